// Replaces a function that a loaded library imports, such as `recv` of LibTorch, for the calls of that library alone.
#pragma once

#include <vector>

namespace ridgeline::agent {

/// The entries of a library's procedure linkage table that name one function (ELF, `DT_JMPREL`). Nothing is replaced
/// until replace(), and restore() puts back what was there. Threads may call the function meanwhile: an entry is one
/// aligned pointer, written in one store. Caller: a control function.
class ImportedFunction {
 public:
  /// Looks in the first loaded library whose path ends with `library`. Finds nothing where it imports no such function,
  /// or where it is not bound through that table: then replace() returns false.
  ImportedFunction(const char* library, const char* name);

  /// False when nothing was found, or the system does not let the table be written.
  bool replace(void* with);
  void restore();

 private:
  struct Entry {
    void** slot;
    void* before;       ///< null: not replaced
    bool is_protected;  ///< read-only
  };
  std::vector<Entry> entries_;
  bool replaced_ = false;
};

}  // namespace ridgeline::agent
