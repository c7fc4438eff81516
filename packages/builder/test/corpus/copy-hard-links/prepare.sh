ln one two
mkdir sub && ln one sub/three
truncate -s 1M sparse && printf end >> sparse
