"""The entry point `verl.plugins`: every process that imports verl registers the trainer and the agent loop.

Without TransferQueue, which verl's newer trainer needs, nothing is registered, and verl works as it does alone.
"""

from bookwheel.lab.training.verl import agent_loop, trainer

__all__ = ["agent_loop", "trainer"]
