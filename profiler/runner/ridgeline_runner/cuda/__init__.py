"""CUDA: its allocator, its operators and programs, and the CPU in its place."""
