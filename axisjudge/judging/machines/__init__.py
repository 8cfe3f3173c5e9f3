"""One run on several machines: shards of it, and files of it on workers."""
