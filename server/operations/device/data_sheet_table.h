// The figures of GPUs' data sheets, each with the documents that it was looked up in.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace ridgeline::operations {

/// What figures were looked up in, in November 2026. Some were read as others quote them.
enum class Document : std::uint8_t {
  kA100Paper,        ///< NVIDIA, A100 Tensor Core GPU architecture, comparison of P100, V100 and A100
  kA10Sheet,         ///< NVIDIA, A10 data sheet
  kAdaPaper,         ///< NVIDIA, Ada GPU architecture, appendix A
  kAllDbin,          ///< AllDbin, comparison of video cards
  kAnandTech,        ///< AnandTech, AMD releases Instinct MI210 (2022), table
  kBaseten,          ///< Baseten, NVIDIA A10 vs A10G
  kBlackwellSheet,   ///< NVIDIA, Blackwell data sheet, column HGX B200
  kCdna3Paper,       ///< AMD, CDNA 3 architecture, table 1
  kClockLogs,        ///< clocks that logs of published benchmarks state
  kCudaGuide,        ///< NVIDIA, CUDA tuning guide of the architecture
  kDeviceQuery,      ///< deviceQuery (CUDA samples) on the GPU, published outputs
  kFullStack,        ///< Full Stack Deep Learning, Cloud GPUs
  kGa102Paper,       ///< NVIDIA, Ampere GA102 GPU architecture, appendix A
  kGeektopia,        ///< Geektopia, NVIDIA H200 (2023)
  kGpuCatalog,       ///< R. Bhope, gpu-runtime-predictor, gpu_catalog.json
  kHardwareUpgrade,  ///< Hardware Upgrade, Tesla V100 on PCI Express (2017)
  kHmcTech,          ///< HMC Tech, database of GPUs
  kHopperPaper,      ///< NVIDIA, H100 Tensor Core GPU architecture
  kHpcTech,          ///< HPC Tech, NVIDIA H100, table
  kHuggingFace,      ///< Hugging Face, hardware
  kInductor,         ///< PyTorch, torch/_inductor/analysis/device_info.py
  kKokkos,           ///< Kokkos, shared memory by compute capability
  kKomputerSwiat,    ///< Komputer Świat, AMD Instinct MI250X and MI250 (2021), table
  kL40sSheet,        ///< NVIDIA, L40S data sheet
  kLightning,        ///< PyTorch Lightning, fabric/utilities/throughput.py
  kLlmCompass,       ///< LLMCompass (ISCA 2024), configs/mi210.json
  kLlmProf,          ///< LLM-Prof, hardware_spec.md
  kLlmRoofline,      ///< LLMRoofline, hardware_dict.py
  kLockwood,         ///< G. K. Lockwood, notes on A100, H100 and B200
  kLumi,             ///< LUMI documentation, LUMI-G
  kMicroway,         ///< Microway, NVIDIA Tesla P100 PCI-E 16GB
  kMlEngineering,    ///< S. Bekman, Machine Learning Engineering, accelerators
  kMlPerf,           ///< MLPerf Inference 4.1, description of AMD's system
  kNeuSight,         ///< NeuSight (ASPLOS 2025), device_configs
  kNvidiaSmi,        ///< the limit that nvidia-smi states, published outputs
  kOvh,              ///< gpu-specs, specs.md
  kOxiCuda,          ///< OxiCUDA, limits by compute capability
  kRocmMi300,        ///< ROCm documentation, MI300 series microarchitecture
  kRocmSpecs,        ///< ROCm documentation, AMD GPU specifications
  kServeTheHome,     ///< ServeTheHome, AMD Instinct MI300X (2023)
  kSysrqmts,         ///< Sysrqmts, comparison of video cards
  kTech4Gamers,      ///< Tech4Gamers, two variants of Tesla P100 (2016), table
  kTechPowerUp,      ///< TechPowerUp, database of GPUs
  kThunder,          ///< Thunder Compute, NVIDIA A100 specifications
  kTomsHardware,     ///< Tom's Hardware, GeForce specifications
  kTorchAo,          ///< torchao, pull request 4002: what a B200 reports
  kTorchProperties,  ///< torch.cuda.get_device_properties on the GPU, published outputs
  kTorchtitan,       ///< torchtitan, tools/utils.py
  kTuringPaper,      ///< NVIDIA, Turing GPU architecture, appendix
  kUltrasonics,      ///< Ultrasonics Sonochemistry 99 (2023), 106546, table 3
  kVoltaPaper,       ///< NVIDIA, Tesla V100 GPU architecture, table 1
  kWareDb,           ///< WareDB, processors
  kXla,              ///< OpenXLA, test of RocmCoreInfoTable
  kZexron,           ///< Zexron, AMD MI250X (2021), AMD's table
};

/// A figure on which two documents agree, to 3 %: vendors round, and state peaks for different clocks. Absent (0) where
/// no two were found that do.
struct Cell {
  double value = 0;
  std::array<Document, 2> documents{};
  bool known() const { return value > 0; }
};

struct Sheet {
  std::string_view name;  ///< a part of what the driver reports, without the vendor's name
  bool amd = false;
  Cell units;                                     ///< streaming multiprocessors, compute units
  Cell boost_mhz;                                 ///< the highest that the driver allows
  Cell float32{}, tf32{}, float16{}, bfloat16{};  ///< TFLOP/s of matrices, not sparse, sums in float32
  Cell shared_kib{};                              ///< of shared memory that the blocks of a unit may use
  Cell l2_mib{};                                  ///< of one L2
  int units_of_l2 = 0;                            ///< that share one; 0: all
  Cell last_cache_mib{};                          ///< between L2 and the memory
  Cell memory_gb{};                               ///< as it is sold
  Cell memory_gb_per_s{};
  Cell power_w{};
};

/// Each name once.
std::span<const Sheet> data_sheet_table();

}  // namespace ridgeline::operations
