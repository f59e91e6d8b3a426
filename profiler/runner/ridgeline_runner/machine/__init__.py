"""The interpreter, the processors and the devices of this machine: what they are, and what they tell."""
