// What code of the headers of GCC 11 and later calls, and the libstdc++ of a system with glibc 2.28 (GCC 8:
// GLIBCXX_3.4.25, CXXABI_1.3.11) does not have. Hidden: other libraries of the process have their own.
#include <new>

#ifdef __GLIBCXX__

#define RIDGELINE_HIDDEN extern "C" __attribute__((visibility("hidden")))

// Out of line in every libstdc++, since GCC 4.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): names of the library
void ridgeline_copy_exception(void* to, const void* from) __asm__("_ZNSt15__exception_ptr13exception_ptrC1ERKS0_");
void ridgeline_drop_exception(void* pointer) __asm__("_ZNSt15__exception_ptr13exception_ptrD1Ev");
}

/// std::__throw_bad_array_new_length(), of GLIBCXX_3.4.29.
RIDGELINE_HIDDEN [[noreturn]] void ridgeline_throw_length() __asm__("_ZSt28__throw_bad_array_new_lengthv");
void ridgeline_throw_length() { throw std::bad_array_new_length(); }

/// std::exception_ptr::_M_addref() and _M_release(), of CXXABI_1.3.13: an exception_ptr is one pointer, whose copy
/// counts once more, and whose destructor once less.
RIDGELINE_HIDDEN void ridgeline_add_reference(void* pointer) __asm__(
    "_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void ridgeline_add_reference(void* pointer) {
  void* copy = nullptr;
  ridgeline_copy_exception(&copy, pointer);  // never destroyed
}
RIDGELINE_HIDDEN void ridgeline_release(void* pointer) __asm__("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void ridgeline_release(void* pointer) {
  ridgeline_drop_exception(pointer);
  *static_cast<void**>(pointer) = nullptr;
}
// NOLINTEND(bugprone-reserved-identifier)

#endif
