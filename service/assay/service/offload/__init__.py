"""Large bodies, read in processes of their own, so that no body stops the event loop."""
