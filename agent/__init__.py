"""An agent that shows what the memory is good for."""
