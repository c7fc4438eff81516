import { HoltError } from '@holt/protocol'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import type { AgentTemplate } from './agent-template.ts'

/** The agent templates that this service can build, by name. */
export class AgentTemplates {
  readonly #templates: ReadonlyMap<string, AgentTemplate>
  readonly #tried = new Set<string>()

  constructor(templates: readonly AgentTemplate[]) {
    this.#templates = new Map(templates.map((template) => [template.name, template]))
  }

  all(): readonly AgentTemplate[] {
    return [...this.#templates.values()]
  }

  /** Returns the agent template of a row, or null if the service does not build it by itself. */
  of(row: Pick<TemplateRow, 'kind' | 'name'>): AgentTemplate | null {
    return row.kind === 'agent' ? (this.#templates.get(row.name) ?? null) : null
  }

  /**
   * Returns the agent template of a row that a client wants to build. Throws `unsupported_setting`
   * if there is none.
   */
  require(row: Pick<TemplateRow, 'kind' | 'name'>): AgentTemplate {
    const agent = this.of(row)
    if (agent !== null) return agent
    throw new HoltError('unsupported_setting', `${row.name} is not a template that Holt builds by itself.`, {
      hint: 'Build it with POST /v1/agents/template/build.',
    })
  }

  /**
   * Returns true once for each ready template whose recipe has changed. A failed rebuild is thus
   * not repeated with each create.
   */
  isToBeRenewed(row: TemplateRow): boolean {
    const agent = this.of(row)
    if (agent === null || row.state !== 'ready' || row.recipe_digest === agent.digest) return false
    if (this.#tried.has(row.template_id)) return false
    this.#tried.add(row.template_id)
    return true
  }
}
