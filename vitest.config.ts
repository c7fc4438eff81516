import { builtRunsc, byLength, nativeModules, ownProcess } from '@holt/testkit'
import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config'

// Minutes each, and other tests run the same code.
const exclude = [...configDefaults.exclude, ...byLength({ short: ['**/*.long.test.ts'], long: [], soak: [] })]

const shared = {
  // As the service does.
  env: { HOLT_RUNSC: process.env.HOLT_RUNSC ?? builtRunsc },
  testTimeout: 60_000,
  hookTimeout: 120_000,
  // Awaited conditions hold within milliseconds, and within seconds on a busy machine.
  expect: { poll: { timeout: 10_000, interval: 20 } },
  // The tests wait more than they compute: three files at once keep two cores busy.
  maxWorkers: 3,
}

/** Returns a project whose files share processes. */
function together(name: string, include: readonly string[], others: readonly string[]) {
  return {
    test: {
      ...shared,
      // The sources of the console are for browsers.
      experimental: name === 'console' ? {} : nativeModules,
      name,
      include: include.map(testsOf),
      exclude: [...exclude, ...ownProcess, ...others],
      // A process for each file costs up to 1.2 s of processor time, mostly to load the same modules.
      isolate: false,
      setupFiles: ['packages/testkit/test/support/check-left-behind.ts'],
    },
  }
}

function testsOf(glob: string): string {
  return glob.endsWith('/**') ? `${glob}/*.test.ts` : glob
}

/**
 * The groups whose files share processes. A process ends with its group, because the modules of
 * test files stay in memory: 50 files of the server keep 2 GB.
 */
const groups = {
  builder: ['packages/builder/test/**'],
  cli: ['packages/cli/test/**'],
  clients: ['packages/{sdk,mcp,e2b}/test/**'],
  console: ['packages/console/test/**'],
  egress: ['packages/egress/test/**'],
  'engine-host': ['packages/{engine-host,erofs}/test/**'],
  'server-api': ['packages/server/test/api/**'],
  'server-builds': ['packages/server/test/builds/**'],
  'server-daemon': ['packages/server/test/daemon/**'],
  'server-foundation': ['packages/server/test/foundation/**'],
  'server-inside': ['packages/server/test/inside/**'],
  'server-resources': ['packages/server/test/resources/**'],
  'server-runtimes': ['packages/server/test/runtimes/**'],
  'server-tenancy': ['packages/server/test/tenancy/**'],
}

// The end-to-end tests have a configuration of their own: they share one service.
const all = ['packages/*/test/**', 'bench/**', 'site/test/**']

/** Returns the configuration of the tests of the packages, without some of their files. */
export function unitConfig(leftOut: readonly string[]): ViteUserConfig {
  return defineConfig({
    test: {
      globalSetup: ['packages/testkit/src/print-seed.ts', 'packages/server/test/support/test-cluster.ts'],
      // Vitest runs projects in the order of their names.
      projects: [
        {
          test: {
            ...shared,
            name: 'alone',
            experimental: nativeModules,
            include: ownProcess.map(testsOf),
            exclude: [...exclude, ...leftOut],
          },
        },
        ...Object.entries(groups).map(([name, include]) => together(name, include, leftOut)),
        together('others', all, [...Object.values(groups).flat(), ...leftOut]),
      ],
    },
  })
}

export default unitConfig([])
