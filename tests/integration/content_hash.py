"""As base::ContentHash: FNV-1a, in sixteen hexadecimal digits."""

from __future__ import annotations


def content_hash(content: bytes) -> str:
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"
