#include "imported_functions.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ridgeline::agent {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
#elif defined(__aarch64__)
constexpr std::uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
#else
constexpr std::uint32_t kJumpSlot = 0;  // no such relocation: nothing is found
#endif

struct Search {
  std::string_view library;
  std::string_view name;
  std::vector<void**> slots;
  std::uintptr_t protected_begin = 0;  ///< what the loader makes read-only once it has bound it (RELRO)
  std::uintptr_t protected_end = 0;
};

/// A pointer of the dynamic section: glibc has relocated it for most libraries, and left it as an offset in others.
std::uintptr_t address(const dl_phdr_info& library, ElfW(Addr) value) {
  return value < library.dlpi_addr ? library.dlpi_addr + value : value;
}

void find_slots(const dl_phdr_info& library, const ElfW(Dyn) * dynamic, Search& search) {
  const ElfW(Rela)* relocations = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  std::size_t bytes = 0;
  bool has_addends = false;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    switch (dynamic->d_tag) {
      case DT_JMPREL:
        relocations = reinterpret_cast<const ElfW(Rela)*>(address(library, dynamic->d_un.d_ptr));
        break;
      case DT_PLTRELSZ:
        bytes = dynamic->d_un.d_val;
        break;
      case DT_PLTREL:
        has_addends = dynamic->d_un.d_val == DT_RELA;
        break;
      case DT_SYMTAB:
        symbols = reinterpret_cast<const ElfW(Sym)*>(address(library, dynamic->d_un.d_ptr));
        break;
      case DT_STRTAB:
        names = reinterpret_cast<const char*>(address(library, dynamic->d_un.d_ptr));
        break;
      default:
        break;
    }
  }
  if (relocations == nullptr || symbols == nullptr || names == nullptr || !has_addends || kJumpSlot == 0) {
    return;
  }
  for (std::size_t i = 0; i < bytes / sizeof(ElfW(Rela)); ++i) {
    if (ELF64_R_TYPE(relocations[i].r_info) == kJumpSlot &&
        search.name == names + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name) {
      search.slots.push_back(reinterpret_cast<void**>(library.dlpi_addr + relocations[i].r_offset));
    }
  }
}

int search_library(dl_phdr_info* library, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  const std::string_view path = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  if (path.size() < search.library.size() || path.substr(path.size() - search.library.size()) != search.library) {
    return 0;
  }
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    if (segment.p_type == PT_DYNAMIC) {
      find_slots(*library, reinterpret_cast<const ElfW(Dyn)*>(library->dlpi_addr + segment.p_vaddr), search);
    } else if (segment.p_type == PT_GNU_RELRO) {
      search.protected_begin = library->dlpi_addr + segment.p_vaddr;
      search.protected_end = search.protected_begin + segment.p_memsz;
    }
  }
  return 1;
}

/// False where the system does not let a read-only entry be written.
bool store(void** slot, bool is_protected, void* value) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto* start = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(slot) / page * page);
  if (is_protected && ::mprotect(start, page, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  reinterpret_cast<std::atomic<void*>*>(slot)->store(value, std::memory_order_release);
  if (is_protected) {
    ::mprotect(start, page, PROT_READ);
  }
  return true;
}

}  // namespace

ImportedFunction::ImportedFunction(const char* library, const char* name) {
  Search search{library, name, {}};
  ::dl_iterate_phdr(&search_library, &search);
  for (void** slot : search.slots) {
    const auto place = reinterpret_cast<std::uintptr_t>(slot);
    entries_.push_back({slot, nullptr, place >= search.protected_begin && place < search.protected_end});
  }
}

bool ImportedFunction::replace(void* with) {
  if (replaced_) {
    return true;
  }
  for (Entry& entry : entries_) {
    entry.before = reinterpret_cast<std::atomic<void*>*>(entry.slot)->load(std::memory_order_acquire);
    if (!store(entry.slot, entry.is_protected, with)) {
      entry.before = nullptr;
      restore();
      return false;
    }
    replaced_ = true;
  }
  return replaced_;
}

void ImportedFunction::restore() {
  for (Entry& entry : entries_) {
    if (entry.before != nullptr) {
      store(entry.slot, entry.is_protected, entry.before);
      entry.before = nullptr;
    }
  }
  replaced_ = false;
}

}  // namespace ridgeline::agent
