/* What the cores of a launch print: kept until its end, then written in the order of the cores.
 *
 * A core without a place to keep it writes at once. */
#ifndef PYPTO_TWIN_PRINTED_H
#define PYPTO_TWIN_PRINTED_H

#include <stdint.h>

extern "C" int dprintf(int, const char*, ...);

namespace pypto_twin {

/* The text of one core. */
struct Text {
    Text* next;
    int64_t core;
    char* data;
    uint64_t size;
    uint64_t room;
};

/* The texts of a launch, in any order. */
struct Printed {
    mutable Text* first = nullptr;
};

inline Text* new_text(const Printed& printed, int64_t core)
{
    Text* const text = static_cast<Text*>(__builtin_realloc(nullptr, sizeof(Text)));
    if (text != nullptr) {
        *text = Text{__atomic_load_n(&printed.first, __ATOMIC_RELAXED), core, nullptr, 0, 0};
        while (!__atomic_compare_exchange_n(&printed.first, &text->next, text, true,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
    }
    return text;
}

/* Room for `more` characters and a zero behind them; nullptr: there is no memory. */
inline char* room_for(Text& text, uint64_t more)
{
    if (text.size + more + 1 > text.room) {
        const uint64_t room = 2 * (text.size + more + 64);
        char* const data = static_cast<char*>(__builtin_realloc(text.data, room));
        if (data == nullptr) {
            return nullptr;
        }
        text.data = data;
        text.room = room;
    }
    return text.data + text.size;
}

template <typename... Arguments>
inline void print_into(Text& text, const char* format, Arguments... arguments)
{
    char* place = room_for(text, 120);
    if (place == nullptr) {
        return;
    }
    const int length = __builtin_snprintf(place, 121, format, arguments...);
    if (length > 120 && (place = room_for(text, static_cast<uint64_t>(length))) != nullptr) {
        (void)__builtin_snprintf(place, static_cast<uint64_t>(length) + 1, format, arguments...);
    }
    if (length > 0 && place != nullptr) {
        text.size += static_cast<uint64_t>(length);
    }
}

/* Write what the cores have printed, and forget it. */
inline void show(const Printed& printed)
{
    while (printed.first != nullptr) {
        Text** lowest = &printed.first;
        for (Text** at = lowest; *at != nullptr; at = &(*at)->next) {
            lowest = (*at)->core < (*lowest)->core ? at : lowest;
        }
        Text* const text = *lowest;
        *lowest = text->next;
        if (text->size > 0) {
            (void)dprintf(1, "%.*s", static_cast<int>(text->size), text->data);
        }
        __builtin_free(text->data);
        __builtin_free(text);
    }
}

}  // namespace pypto_twin

#endif  // PYPTO_TWIN_PRINTED_H
