"""The worker's Python side: loads an entry point, runs its training step, and lets the agent record it.

It runs in the user's interpreter and stays thin: every figure is computed in the daemon.
"""
