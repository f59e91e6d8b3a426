"""profiler/agent/cupti/abi.h against CUPTI's own headers and libraries, of the versions that torch's wheels bring.

They are downloaded from PyPI, once, into build/cupti; without it these tests are skipped.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The version of CUPTI → the wheel.
WHEELS = {
    "11.8": "nvidia-cuda-cupti-cu11==11.8.87",
    "12.1": "nvidia-cuda-cupti-cu12==12.1.105",
    "12.4": "nvidia-cuda-cupti-cu12==12.4.127",
    "12.6": "nvidia-cuda-cupti-cu12==12.6.80",
    "12.8": "nvidia-cuda-cupti-cu12==12.8.90",
    "12.9": "nvidia-cuda-cupti-cu12==12.9.79",
    "13.0": "nvidia-cuda-cupti==13.0.85",
    "13.2": "nvidia-cuda-cupti==13.2.86",
    "13.5": "nvidia-cuda-cupti==13.5.25",
}
RECORDS = {"KERNEL": "Kernel", "MEMCPY": "Memcpy", "MEMSET": "Memset", "PEER": "MemcpyPtoP", "OVERHEAD": "Overhead"}

# CUDA's own headers are not in these wheels; records hold few of its types.
CUDA_H = """
#pragma once
#include <stddef.h>
#include <stdint.h>
typedef struct CUctx_st* CUcontext; typedef struct CUstream_st* CUstream; typedef struct CUmod_st* CUmodule;
typedef struct CUgraph_st* CUgraph; typedef struct CUgraphNode_st* CUgraphNode; typedef struct CUfunc_st* CUfunction;
typedef struct CUgraphExec_st* CUgraphExec; typedef struct CUevent_st* CUevent;
typedef int CUdevice; typedef unsigned long long CUdeviceptr; typedef int CUresult; typedef int CUaccessProperty;
typedef int CUdevice_attribute; typedef int CUfunc_cache; typedef int CUsharedconfig; typedef int CUmemRangeHandleType;
typedef struct CUuuid_st { char bytes[16]; } CUuuid; typedef int CUgraphNodeType; typedef int CUlaunchAttributeID;
typedef int CUstreamAttrID; typedef union { char bytes[64]; } CUstreamAttrValue;
typedef struct { void* base_ptr; size_t num_bytes; float hitRatio; int hitProp, missProp; } CUaccessPolicyWindow;
"""

CHECK = """
#include <cstddef>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>
#include "profiler/agent/cupti/abi.h"
namespace ours = ridgeline::agent::cupti;
#define AT(record, member, offset) static_assert(offsetof(record, member) == (offset), #record "." #member)
#define TIMES(record, layout)                   \\
  AT(record, kind, ours::kKindOffset);          \\
  AT(record, start, ours::layout.start);        \\
  AT(record, end, ours::layout.end);            \\
  AT(record, deviceId, ours::layout.device);    \\
  AT(record, streamId, ours::layout.stream);    \\
  AT(record, correlationId, ours::layout.correlation); \\
  static_assert(ours::layout.least_bytes <= sizeof(record) && \\
                ours::layout.least_bytes >= offsetof(record, correlationId) + 4)
TIMES(KERNEL, kKernelLayout);
AT(KERNEL, name, ours::kKernelLayout.name);
static_assert(ours::kKernelLayout.least_bytes >= offsetof(KERNEL, name) + 8);
TIMES(MEMCPY, kMemcpyLayout);
AT(MEMCPY, bytes, ours::kMemcpyLayout.bytes);
AT(MEMCPY, copyKind, ours::kCopyKindOffset);
TIMES(PEER, kMemcpyPeerLayout);
AT(PEER, bytes, ours::kMemcpyPeerLayout.bytes);
AT(PEER, copyKind, ours::kCopyKindOffset);
TIMES(MEMSET, kMemsetLayout);
AT(MEMSET, bytes, ours::kMemsetLayout.bytes);
AT(KERNEL, graphNodeId, ours::kKernelLayout.graph_node);
AT(MEMCPY, graphNodeId, ours::kMemcpyLayout.graph_node);
AT(MEMSET, graphNodeId, ours::kMemsetLayout.graph_node);
AT(CUpti_GraphData, node, offsetof(ours::GraphData, node));
AT(CUpti_GraphData, originalNode, offsetof(ours::GraphData, original_node));
AT(CUpti_ResourceData, resourceDescriptor, offsetof(ours::ResourceData, descriptor));
AT(OVERHEAD, overheadKind, ours::kOverheadLayout.kind);
AT(OVERHEAD, objectKind, ours::kOverheadLayout.object_kind);
AT(OVERHEAD, start, ours::kOverheadLayout.start);
AT(OVERHEAD, end, ours::kOverheadLayout.end);
static_assert(offsetof(OVERHEAD, objectId) + offsetof(CUpti_ActivityObjectKindId, pt.threadId) ==
              ours::kOverheadLayout.thread);
AT(CUpti_CallbackData, callbackSite, offsetof(ours::CallbackData, site));
AT(CUpti_CallbackData, correlationData, offsetof(ours::CallbackData, correlation_data));
AT(CUpti_CallbackData, correlationId, offsetof(ours::CallbackData, correlation));
static_assert(sizeof(CUpti_CallbackData) == sizeof(ours::CallbackData));
#define SAME(theirs, mine) static_assert(static_cast<unsigned>(theirs) == static_cast<unsigned>(ours::mine), #theirs)
SAME(CUPTI_ACTIVITY_KIND_MEMCPY, Kind::kMemcpy);
SAME(CUPTI_ACTIVITY_KIND_MEMSET, Kind::kMemset);
SAME(CUPTI_ACTIVITY_KIND_KERNEL, Kind::kKernel);
SAME(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, Kind::kConcurrentKernel);
SAME(CUPTI_ACTIVITY_KIND_OVERHEAD, Kind::kOverhead);
SAME(CUPTI_ACTIVITY_KIND_MEMCPY2, Kind::kMemcpyPeer);
SAME(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CopyKind::kHostToDevice);
SAME(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CopyKind::kDeviceToHost);
SAME(CUPTI_ACTIVITY_MEMCPY_KIND_HTOA, CopyKind::kHostToArray);
SAME(CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, CopyKind::kArrayToHost);
SAME(CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CopyKind::kHostToHost);
SAME(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, CopyKind::kPeerToPeer);
SAME(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, kBufferFlush);
SAME(CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, kInstrumentation);
SAME(CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, kResource);
SAME(CUPTI_ACTIVITY_OBJECT_THREAD, kThreadObject);
SAME(CUPTI_CB_DOMAIN_DRIVER_API, kDriverDomain);
SAME(CUPTI_CB_DOMAIN_RUNTIME_API, kRuntimeDomain);
SAME(CUPTI_CB_DOMAIN_RESOURCE, kResourceDomain);
SAME(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, kGraphNodeCreated);
SAME(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, kGraphNodeCloned);
static_assert(CUPTI_API_ENTER == 0);
SAME(CUPTI_SUCCESS, kSuccess);
SAME(CUPTI_ERROR_MAX_LIMIT_REACHED, kMaxLimitReached);
SAME(CUPTI_ERROR_NOT_INITIALIZED, kNotInitialised);
SAME(CUPTI_ERROR_INVALID_KIND, kInvalidKind);
SAME(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, kNotPermitted);
SAME(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, kMultipleSubscribers);
static_assert(CUPTI_API_VERSION >= ours::kOldestVersion && CUPTI_API_VERSION <= ours::kNewestVersion);
"""

# Loads the library as the agent does, on a machine that has no driver.
ATTACH = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
from ridgeline_runner.machine import interpreter
agent = interpreter.load_agent(sys.argv[2])
print(agent.attach_device([sys.argv[3]]))
agent.detach_device()
"""


def unpacked(version: str) -> Path:
    folder = ROOT / "build" / "cupti" / version
    if not list(folder.rglob("cupti_activity.h")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        done = subprocess.run(
            [*command, "--dest", folder, WHEELS[version]], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"{WHEELS[version]} cannot be downloaded")
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            wheel.extractall(folder)
    return folder


def newest(header: str, record: str) -> str:
    """The record's latest generation in a header: CUpti_ActivityKernel9."""
    found = re.findall(rf"}} (CUpti_Activity{record}(\d*));", header)
    return max(found, key=lambda name: int(name[1] or 1))[0]


@pytest.mark.parametrize("version", WHEELS)
def test_the_layouts_are_those_of_the_headers(version: str, tmp_path: Path) -> None:
    header = next(unpacked(version).rglob("cupti_activity.h"))
    for name in ("cuda.h", "cuda_runtime_api.h", "builtin_types.h"):
        (tmp_path / name).write_text(CUDA_H)
    source = tmp_path / "check.cpp"
    source.write_text(CHECK)
    text = header.read_text(errors="replace")
    records = [f"-D{macro}={newest(text, record)}" for macro, record in RECORDS.items()]
    command = ["c++", "-std=c++17", "-fsyntax-only", "-w", f"-I{ROOT}", *records, "-isystem", str(header.parent)]
    done = subprocess.run([*command, "-isystem", str(tmp_path), source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


@pytest.mark.parametrize("version", ["11.8", "12.4", "12.8", "13.0"])
def test_a_real_library_without_a_driver_is_refused_in_words(version: str, agent: Path) -> None:
    library = next(unpacked(version).rglob("libcupti.so.1*"))
    arguments = [str(ROOT / "profiler" / "runner"), str(agent), str(library)]
    done = subprocess.run([sys.executable, "-c", ATTACH, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("CUPTI_ERROR_") or done.stdout == "\n"  # the latter where there is a driver
