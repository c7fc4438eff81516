tar --numeric-owner --mtime=@1000000000 -czf packed.tar.gz file
