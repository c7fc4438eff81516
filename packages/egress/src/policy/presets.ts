import type { PolicyBody } from '@holt/protocol'

/** The name of a preset. */
export type PresetName = PolicyBody['include'][number]

/** One host of a preset, and the reason for it. */
export interface PresetHost {
  readonly host: string
  readonly ports: readonly number[]
  readonly why: string
}

const https = (host: string, why: string): PresetHost => ({ host, ports: [443], why })
const web = (host: string, why: string): PresetHost => ({ host, ports: [80, 443], why })

/** The source of the model vendors' command line tools. */
const npmRegistry = https('registry.npmjs.org', 'metadata and tarballs of npm packages, and advisories')

/**
 * The presets: every host that a preset allows, with the reason. A host is listed only if its
 * vendor documents it or its own client uses it. It must be the vendor's alone: no shared storage
 * or CDN name on which anybody can publish. A registry that accepts uploads is still a way out for
 * a program with its own token: SECURITY.md says so.
 */
export const presets: Readonly<Record<PresetName, readonly PresetHost[]>> = {
  npm: [
    npmRegistry,
    https('registry.yarnpkg.com', "the same registry under the name in yarn's lock files"),
    https('nodejs.org', 'headers that node-gyp needs for native modules, and releases of Node'),
  ],
  pypi: [
    https('pypi.org', 'the index, in HTML and JSON'),
    https('files.pythonhosted.org', 'the files that the index points to'),
  ],
  github: [
    https('github.com', 'git over HTTPS, release pages'),
    https('api.github.com', 'the REST and GraphQL API'),
    https('codeload.github.com', 'source archives'),
    https('raw.githubusercontent.com', 'single files of a repository'),
    https('gist.githubusercontent.com', 'single files of a gist'),
    https('objects.githubusercontent.com', 'release files, where downloads are redirected to'),
    https('release-assets.githubusercontent.com', 'release files, where newer downloads are redirected to'),
    https('media.githubusercontent.com', 'large files (LFS) of a repository'),
    https('lfs.github.com', 'the protocol of large files (LFS)'),
    https('github-cloud.githubusercontent.com', 'the store of large files (LFS)'),
    https('uploads.github.com', 'upload of release files'),
    https('npm.pkg.github.com', 'the npm registry of GitHub Packages'),
    https('ghcr.io', 'container images, manifests and tokens'),
    https('pkg-containers.githubusercontent.com', 'container images, layers'),
  ],
  debian: [
    web('deb.debian.org', 'packages; apt asks over plain HTTP and verifies signatures'),
    web('security.debian.org', 'security updates'),
    web('snapshot.debian.org', 'packages as they were on a given day'),
  ],
  anthropic: [
    https('api.anthropic.com', 'the API'),
    https('console.anthropic.com', 'sign-in of the command line tool: OAuth tokens'),
    https('platform.claude.com', 'sign-in of the command line tool: OAuth tokens, under the newer name'),
    https('claude.ai', 'sign-in of the command line tool with a subscription; its installer'),
    https('downloads.claude.ai', 'the command line tool itself, and its updates'),
    npmRegistry,
  ],
  openai: [
    https('api.openai.com', 'the API'),
    https('auth.openai.com', 'sign-in of the command line tool: OAuth tokens'),
    https('chatgpt.com', 'the API as the command line tool reaches it with a subscription'),
    npmRegistry,
  ],
  google: [
    https('generativelanguage.googleapis.com', 'the Gemini API with a key'),
    https('aiplatform.googleapis.com', 'the Gemini API of Vertex AI, the global endpoint'),
    https('cloudcode-pa.googleapis.com', 'the Gemini API as the command line tool reaches it with an account'),
    https('accounts.google.com', 'sign-in: consent'),
    https('oauth2.googleapis.com', 'sign-in: OAuth tokens, service accounts'),
    https('www.googleapis.com', 'sign-in: who the account is, and certificates'),
    https('sts.googleapis.com', 'sign-in: tokens in exchange for workload identities'),
    https('iamcredentials.googleapis.com', 'sign-in: tokens of service accounts'),
    npmRegistry,
  ],
}
