"""The client: one Client over transports, and the frame of the command line."""
