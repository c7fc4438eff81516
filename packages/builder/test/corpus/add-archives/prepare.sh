mkdir -p tree/sub
echo 1 > tree/one; echo 2 > tree/sub/two; chmod 750 tree/sub; chmod 4755 tree/one
ln -s one tree/link; ln tree/one tree/hard
chown -h 11:12 tree/link; chown 11:12 tree/one tree/sub
touch -d @1000000000 tree/sub/two
tar -C tree --numeric-owner -cf plain.tar .
tar -C tree --numeric-owner -czf packed.tar.gz one sub
tar -C tree --numeric-owner -cjf packed.tar.bz2 one
tar -C tree --numeric-owner -cJf packed.tar.xz sub
cp packed.tar.gz odd-name
rm -r tree
