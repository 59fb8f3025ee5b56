/* Checked twin: which bits of a memory hold values that a kernel has put there. */
#ifndef PYPTO_TWIN_CHECK_DEFINED_H
#define PYPTO_TWIN_CHECK_DEFINED_H

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "../check.h"
#include "shadow.h"

namespace pypto_twin {
namespace check {

/* Why a value is undefined, and what made it so (kNoSite: the beginning). */
struct Cause {
    Undefined why;
    Site site;

    bool operator<(const Cause& other) const
    {
        return why != other.why ? why < other.why : site < other.site;
    }
};

/* The causes of a launch, each once. An origin is a number in this table. */
class Origins {
public:
    Origin of(const Cause& cause)
    {
        const auto known = numbers_.try_emplace(cause, static_cast<Origin>(causes_.size()));
        if (known.second) {
            if (causes_.size() == UINT16_MAX) {
                known.first->second = kNever;
            } else {
                causes_.push_back(cause);
            }
        }
        return known.first->second;
    }
    const Cause& operator[](Origin origin) const { return causes_[origin]; }

private:
    static constexpr Cause kBeginning{Undefined::never, ~0u};

    std::vector<Cause> causes_{kBeginning, kBeginning}; /* kDefined, kNever */
    std::map<Cause, Origin> numbers_;
};

/* All bits of n bytes are 1. */
inline bool all_ones(const uint8_t* at, uint64_t n)
{
    typedef uint64_t Vector __attribute__((vector_size(32)));
    Vector ones = ~Vector{};
    for (; n >= sizeof(Vector); n -= sizeof(Vector), at += sizeof(Vector)) {
        Vector next;
        memcpy(&next, at, sizeof next);
        ones &= next;
    }
    uint64_t all = ones[0] & ones[1] & ones[2] & ones[3];
    for (; n >= 8; n -= 8, at += 8) {
        uint64_t next;
        memcpy(&next, at, sizeof next);
        all &= next;
    }
    uint8_t last = 0xff;
    for (; n != 0; --n) {
        last &= *at++;
    }
    return all == ~uint64_t{0} && last == 0xff;
}

/* A bit for each bit of a memory, 1: defined; and for each four bytes where those that are not come
 * from. At first nothing is defined. */
class Defined {
public:
    explicit Defined(uint64_t bytes)
        : bytes_(bytes),
          bits_(static_cast<uint8_t*>(calloc(bytes, 1))),
          origins_(static_cast<Origin*>(calloc(bytes / kWord + 1, sizeof(Origin))))
    {
        if (bits_ == nullptr || origins_ == nullptr) {
            std::abort();
        }
    }

    uint64_t bytes() const { return bytes_; }
    bool whole(uint64_t at, uint64_t bytes) const { return all_ones(&bits_[at], bytes); }
    uint8_t bits(uint64_t at) const { return bits_[at]; }

    void define(uint64_t at, uint64_t bytes)
    {
        memset(&bits_[at], 0xff, bytes);
        touch(at + bytes);
    }
    void undefine(uint64_t at, uint64_t bytes, Origin origin)
    {
        if (bytes != 0) {
            memset(&bits_[at], 0, bytes);
            std::fill(&origins_[at / kWord], &origins_[(at + bytes - 1) / kWord + 1], origin);
            touch(at + bytes);
        }
    }
    /* All of it, as far as anything was written. */
    void clear(Origin origin) { undefine(0, touched_, origin); }

    void set_bits(uint64_t at, uint8_t bits, Origin origin)
    {
        bits_[at] = bits;
        if (bits != 0xff) {
            origins_[at / kWord] = origin;
        }
        touch(at + 1);
    }

    /* The first byte from `at` on that is not defined; at + bytes without one. */
    uint64_t first(uint64_t at, uint64_t bytes) const
    {
        const uint64_t end = at + bytes;
        while (at != end && bits_[at] == 0xff) {
            ++at;
        }
        return at;
    }
    Origin origin(uint64_t at, uint64_t bytes) const
    {
        if (whole(at, bytes)) {
            return kDefined;
        }
        const Origin known = origins_[first(at, bytes) / kWord];
        return known == kDefined ? kNever : known;
    }

    void copy(uint64_t to, const Defined& other, uint64_t from, uint64_t bytes)
    {
        memmove(&bits_[to], &other.bits_[from], bytes);
        touch(to + bytes);
        if (whole(to, bytes)) {
            return;
        }
        for (uint64_t i = 0; i < bytes; ++i) {
            if (bits_[to + i] != 0xff) {
                origins_[(to + i) / kWord] = other.origins_[(from + i) / kWord];
            }
        }
    }
    /* As copy, where something is added to what is there. */
    void add(uint64_t to, const Defined& other, uint64_t from, uint64_t bytes)
    {
        for (uint64_t i = 0; i < bytes; ++i) {
            const uint8_t bits = other.bits_[from + i];
            if (bits != 0xff) {
                set_bits(to + i, bits_[to + i] & bits, other.origins_[(from + i) / kWord]);
            }
        }
    }

private:
    static constexpr uint64_t kWord = 4;
    struct Free {
        void operator()(void* memory) const { free(memory); }
    };

    void touch(uint64_t end) { touched_ = touched_ < end ? end : touched_; }

    uint64_t bytes_;
    uint64_t touched_ = 0;
    std::unique_ptr<uint8_t[], Free> bits_;
    std::unique_ptr<Origin[], Free> origins_;
};

}  // namespace check
}  // namespace pypto_twin

#endif
