// Loaded with NODE_OPTIONS into clients whose system does not answer names below localhost, as
// browsers and some systems do (RFC 6761, 6.3).
import dns from 'node:dns'

const { lookup } = dns
dns.lookup = (name, ...rest) => lookup(/\.localhost$/i.test(name) ? 'localhost' : name, ...rest)
