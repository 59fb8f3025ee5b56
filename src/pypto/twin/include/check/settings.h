/* Checked twin: what a call needs of the kernel and of the values around it. Part of rules.h. */
#ifndef PYPTO_TWIN_CHECK_SETTINGS_H
#define PYPTO_TWIN_CHECK_SETTINGS_H

#include "../assume.h"

namespace pypto_twin {
namespace check {

/* Some calls may ask the TPipe for events or memory, which a kernel of the static style has none of. */
inline void Rules::piped()
{
    const bool needed = row_.piped == Piped::all || (row_.piped == Piped::count && call_.form == Form::count);
    if (needed && !core_.has_pipe()) {
        broken("needs-tpipe", "a kernel without a TPipe may not call it: it may ask the TPipe for events or memory");
    }
}

/* Values that the function is not documented for. Undefined ones and NaN are not looked at. */
inline void Rules::domain()
{
    if (assume::domain_any || row_.domain < 0 || call_.tensor_count < 2 || call_.form != Form::count) {
        return;
    }
    if (call_.tensors[1].type == type_of<float>) {
        domain_of<float>(call_.tensors[1]);
    } else if (call_.tensors[1].type == type_of<half>) {
        domain_of<half>(call_.tensors[1]);
    }
}

template <typename T>
inline void Rules::domain_of(const Tensor& src)
{
    const Domain& domain = kDomains[row_.domain];
    const int64_t held = static_cast<int64_t>(src.held / sizeof(T));
    const T* const values = reinterpret_cast<const T*>(src.address);
    for (int64_t i = 0; i < std::min(call_.amount, held); ++i) {
        const double x = static_cast<float>(values[i]);
        if (x == x && !domain.has(x) && core_.origin(src.position, values + i, sizeof(T)) == kDefined) {
            char text[32];
            snprintf(text, sizeof text, "%g", x);
            return broken("domain", "element " + number(i) + " of src is " + text + "; the function is documented for " +
                                        domain.text, &src);
        }
    }
}

}  // namespace check
}  // namespace pypto_twin

#endif
