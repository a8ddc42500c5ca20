"""The store of compilation results by key, on this machine and on a remote one."""
