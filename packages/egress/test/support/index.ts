export { issue, makeTestCa, type TestCertificate } from './certificates.ts'
export { startDnsServer, type TestDnsServer, type ZoneEntry } from './dns-server.ts'
