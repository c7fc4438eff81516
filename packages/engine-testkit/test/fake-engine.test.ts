import { runConformance } from '../src/conformance/index.ts'
import { FakeEngine } from '../src/fake/index.ts'

const engine = new FakeEngine()

runConformance({
  name: 'the fake engine',
  isolation: 'gvisor',
  open: async () => engine,
  openOther: async () => new FakeEngine(),
  dialEgress: async (_, id) => engine.dialEgress(id),
  imageTar: async function* () {
    yield Buffer.from('any bytes are an image here')
  },
  size: { cpu: 1, memoryMiB: 256, diskMiB: 256 },
  verbTimeoutMs: 2_000,
})

runConformance({
  name: 'the fake engine',
  isolation: 'container',
  open: async () => engine,
  openOther: async () => new FakeEngine(),
  dialEgress: async (_, id) => engine.dialEgress(id),
  imageTar: async function* () {
    yield Buffer.from('any bytes are an image here')
  },
  size: { cpu: 1, memoryMiB: 256, diskMiB: 256 },
  verbTimeoutMs: 2_000,
})
