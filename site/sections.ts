/** A section of the site: its title, and its pages in the order of the sidebar. */
export interface Section {
  readonly title: string
  /** Paths in the repository, or `reference/NAME` for a page that is generated. A `*` is a glob. */
  readonly pages: readonly string[]
}

/** The page that the site opens with. */
export const frontPage = 'README.md'

/**
 * The sections of the site. Titles and outlines of pages come from their headings. A page below
 * `docs/` that no section names fails the build.
 */
export const sections: readonly Section[] = [
  { title: 'Tutorials', pages: ['docs/install.md', 'docs/tour.md', 'docs/python.md'] },
  {
    title: 'How-to',
    pages: [
      'docs/code.md',
      'docs/network.md',
      'docs/templates.md',
      'docs/lifecycle.md',
      'docs/ports.md',
      'docs/console.md',
      'docs/mcp.md',
      'docs/e2b.md',
      'docs/events.md',
      'docs/projects.md',
      'docs/operations.md',
      'docs/store.md',
      'docs/two-machines.md',
      'docs/fleet.md',
      'docs/kubernetes.md',
    ],
  },
  {
    title: 'Reference',
    pages: [
      'reference/cli.md',
      'packages/sdk/README.md',
      'python/README.md',
      'reference/python.md',
      'docs/clients.md',
      'reference/api.md',
      'reference/api-*.md',
      'reference/schemas.md',
      'reference/errors.md',
      'docs/settings.md',
      'docs/e2b-coverage.md',
    ],
  },
  {
    title: 'Safety, limits and figures',
    pages: [
      'SECURITY.md',
      'LIMITATIONS.md',
      'docs/reliability.md',
      'docs/crashes.md',
      'docs/benchmarks.md',
      'CHANGELOG.md',
    ],
  },
  {
    title: 'Internals',
    pages: [
      'ARCHITECTURE.md',
      'docs/internals/*.md',
      'guest/PROTOCOL.md',
      'bench/README.md',
      'site/README.md',
      'CONTRIBUTING.md',
    ],
  },
  { title: 'Decisions', pages: ['docs/decisions/*.md'] },
]
