"""The host side of the sandbox: backends, jails, the supervisor process and the slots that use it."""
