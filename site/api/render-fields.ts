import type { Parameter, Schema } from './document.ts'
import { type Html, html, prose } from './html.ts'
import { fieldsIn, typeText } from './type-text.ts'

interface Field {
  readonly name: string
  readonly isRequired: boolean
  readonly description: string | undefined
  readonly schema: Schema
}

/**
 * Renders a schema: its fields, each of its choices, or its type in one line. Fields of named
 * schemas are described at those schemas.
 */
export function renderSchema(schema: Schema): Html {
  if (schema.properties !== undefined) return renderFields(fieldsOf(schema))
  const choices = schema.anyOf ?? schema.oneOf
  if (choices === undefined || !choices.some(({ properties }) => properties !== undefined))
    return html`<p class="type">${typeText(schema)}</p>`
  return html`<p>One of:</p>
<ul class="choices">${choices.map((choice) => html`<li>${renderSchema(choice)}</li>`)}</ul>`
}

/** Renders the parameters of an operation. */
export function renderParameters(parameters: readonly Parameter[]): Html {
  return renderFields(
    parameters.map(({ name, required, description, schema }) => ({ name, isRequired: required, description, schema })),
  )
}

function fieldsOf({ properties = {}, required = [] }: Schema): readonly Field[] {
  return Object.entries(properties).map(([name, schema]) => {
    // A field with a default may be left out, even if answers always have it.
    const isRequired = required.includes(name) && schema.default === undefined
    return { name, isRequired, description: schema.description, schema }
  })
}

function renderFields(fields: readonly Field[]): Html {
  if (fields.length === 0) return html`<p>No fields.</p>`
  return html`<dl class="fields">${fields.map(renderField)}</dl>`
}

function renderField({ name, isRequired, description, schema }: Field): Html {
  const saysDefault = /\bdefault\b/i.test(description ?? '')
  const inner = [schema, ...(schema.anyOf ?? schema.oneOf ?? [])].flatMap((choice) => fieldsIn(choice) ?? [])
  return html`
<dt><code>${name}</code> <span class="type">${typeText(schema)}</span>${isRequired ? html` <b class="required">required</b>` : null}</dt>
<dd>${description === undefined ? null : html`<p>${prose(description)}</p>`}${
    schema.default === undefined || saysDefault
      ? null
      : html`<p>Default <code>${JSON.stringify(schema.default)}</code></p>`
  }${inner.map(renderSchema)}</dd>`
}
