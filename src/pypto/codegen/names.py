"""C++ names from Python names: legal, readable, without collisions."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

__all__ = ["Names", "identifier", "kernel_name"]

# Words of C++ and Ascend C, and every name that the templates and views give themselves.
_RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    class compl const constexpr const_cast continue decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename union unsigned using virtual
    void volatile wchar_t while xor xor_eq size_t
    half bfloat16_t std block_idx block_num unix linux errno assert stdin stdout stderr
    args begin calc calcBuf col cols constBuf constQue cores count end first full group headBuf
    headQue inBuf inQue left line noPad offset outBuf outQue perGroup perRow pipe pitch repeat row
    rows run share step stride tail tailBuf tailQue tile tiles total workspace
    arguments bytes call core data error frame iteration iterations launch memory result runtime
    state traffic work
    """.split()
)
_RESERVED_FORMS = re.compile(r"memory\d+|k[A-Z]\w*|axis\d+|u?int\d+_t")
_LONGEST = 80  # characters of a kernel's name, which names files and symbols
# Functions that a kernel's symbol must not replace: the C library's and the compiler's own.
_LIBRARY = frozenset(
    """
    abort abs access acos acosh aligned_alloc asin asinh asprintf atan atan2 atanh atexit atof atoi
    atol atoll basename bcmp bcopy bind brk bsearch bzero cabs cacos cacosh calloc carg casin
    casinh catan catanh cbrt ccos ccosh ceil cexp cimag clearerr clock clog close closedir conj
    connect copysign cos cosh cpow cproj creal csin csinh csqrt ctan ctanh ctime daemon difftime
    dirname div dlclose dlopen dlsym drem dup erf erfc err exec execv execve exit exp exp10 exp2
    expm1 fabs fclose fdim feof ferror fflush ffs fgetc fgets fileno finite floor fma fmax fmin
    fmod fopen fork fprintf fputc fputs fread free freopen frexp fscanf fseek fsync ftell
    ftruncate fwrite gamma getc getchar getenv getpid gets getuid gmtime hypot ilogb index ioctl
    isalnum isalpha isascii isatty isdigit isinf islower isnan isprint isspace isupper j0 j1 jn
    kill labs ldexp ldiv lgamma link listen llabs lldiv llrint llround localtime log log10 log1p
    log2 logb longjmp lrint lround lseek main malloc mblen memccpy memchr memcmp memcpy memmem
    memmove mempcpy memset mkdir mktime mmap modf mprotect munmap nan nanosleep nearbyint nextafter
    nexttoward nice open opendir optarg optind pause perror pipe poll popen pow pow10 printf
    pselect putc putchar putenv puts qsort raise rand random read readdir readlink realloc recv
    remainder remove remquo rename rewind rindex rint rmdir round scalb scalbln scalbn scanf
    select send setbuf setenv setjmp shutdown signal significand sin sincos sinh sleep snprintf
    socket splice sprintf sqrt srand srandom sscanf stat stpcpy strcat strchr strcmp strcpy
    strcspn strdup strerror strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtod
    strtof strtok strtol strtoll strtoul symlink sync syscall system tan tanh tee tempnam tgamma
    time times tmpfile tolower toupper trunc truncate umask uname ungetc unlink usleep vfork
    vfprintf vprintf vsprintf wait waitpid warn write y0 y1 yn
    """.split()
)


def kernel_name(name: str) -> str:
    """The C name of the kernel function that is called ``name`` in Python."""
    text = identifier(name)
    if text in _LIBRARY or (text[-1] in "fl" and text[:-1] in _LIBRARY):
        text = f"{text}Kernel"
    if len(text) > _LONGEST:
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        text = f"{text[: _LONGEST - 9].rstrip('_')}_{digest}"
    return text


def identifier(name: str) -> str:
    """``name`` as a legal C++ identifier: ASCII, no reserved word, no leading underscore."""
    text = unicodedata.normalize("NFKC", name)
    text = "".join(c if c.isascii() else f"u{ord(c):04x}" for c in text)
    text = re.sub(r"\W", "_", text).strip("_") or "v"
    text = re.sub(r"__+", "_", text)
    if text[0].isdigit():
        text = f"v{text}"
    # A leading capital is kept for the types and functions of Ascend C.
    text = f"{text[0].lower()}{text[1:]}"
    if text in _RESERVED or _RESERVED_FORMS.fullmatch(text):
        text = f"{text}Value"
    return text


class Names:
    """Hands out names that are unique in one scope."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._numbers: dict[str, int] = {}  # the first that may be free

    def new(self, wanted: str) -> str:
        """``wanted`` as an identifier, numbered when it is taken."""
        return self.plain(identifier(wanted))

    def plain(self, wanted: str) -> str:
        """``wanted``, an identifier of ours, numbered when it is taken."""
        name = wanted
        if name in self._taken:
            number = self._numbers.get(wanted, 2)
            while (name := f"{wanted}{number}") in self._taken:
                number += 1
            self._numbers[wanted] = number + 1
        self._taken.add(name)
        return name
