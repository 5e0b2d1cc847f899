"""Tools, and how to make one."""
