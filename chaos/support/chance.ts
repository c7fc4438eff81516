export { Chance } from '@holt/testkit'
