"""All that goes wrong: `FAULTS`, in the order of docs/dev/reliability.md."""

from . import clients, commands, places, workers

FAULTS = [*clients.FAULTS, *workers.FAULTS, *places.FAULTS, *commands.FAULTS]
