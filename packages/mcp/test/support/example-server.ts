import { setTimeout as wait } from 'node:timers/promises'
import { McpServer, ResourceTemplate, type ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'

/** A PNG of one pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='
/** The header of a WAV file without samples. */
const silence = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

const text = (words: string) => ({ type: 'text' as const, text: words })
const image = { type: 'image' as const, data: pixel, mimeType: 'image/png' }

/**
 * Makes the example server of the conformance suite, as far as its scenarios test the transport:
 * contents of every type, notifications during a call, and requests to the client.
 */
export function makeExampleServer(): McpServer {
  const server = new McpServer({ name: 'example', version: '1.0.0' }, { capabilities: { logging: {} } })
  addContents(server)
  addNotifications(server)
  addRequests(server)
  addResources(server)
  return server
}

function addContents(server: McpServer): void {
  const embedded = {
    uri: 'test://embedded-resource',
    mimeType: 'text/plain',
    text: 'This is an embedded resource content.',
  }
  const mixed = {
    uri: 'test://mixed-content-resource',
    mimeType: 'application/json',
    text: '{"test":"data","value":123}',
  }
  const contents = {
    test_simple_text: [text('This is a simple text response for testing.')],
    test_image_content: [image],
    test_audio_content: [{ type: 'audio' as const, data: silence, mimeType: 'audio/wav' }],
    test_embedded_resource: [{ type: 'resource' as const, resource: embedded }],
    test_multiple_content_types: [
      text('Multiple content types test:'),
      image,
      { type: 'resource' as const, resource: mixed },
    ],
  }
  for (const [name, content] of Object.entries(contents))
    server.registerTool(name, { description: 'Returns a content.' }, async () => ({ content }))
  server.registerTool('test_error_handling', { description: 'Fails.' }, () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
}

function addNotifications(server: McpServer): void {
  server.registerTool('test_tool_with_logging', { description: 'Logs.' }, async ({ mcpReq }: ServerContext) => {
    for (const words of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.log('info', words)
      await wait(50)
    }
    return { content: [text('done')] }
  })
  server.registerTool('test_tool_with_progress', { description: 'Reports.' }, async ({ mcpReq }: ServerContext) => {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      await wait(50)
    }
    return { content: [text('done')] }
  })
}

const named = [
  { const: 'value1', title: 'First Option' },
  { const: 'value2', title: 'Second Option' },
  { const: 'value3', title: 'Third Option' },
]

/** The forms that the scenarios let a server show, by the tools that show them. */
const forms = {
  test_elicitation_sep1034_defaults: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
  test_elicitation_sep1330_enums: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: named },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: named } },
  },
} as const

function addRequests(server: McpServer): void {
  server.registerTool(
    'test_sampling',
    { description: 'Asks the model.', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const { content } = await mcpReq.requestSampling({
        messages: [{ role: 'user', content: text(prompt) }],
        maxTokens: 100,
      })
      return { content: [text(`LLM response: ${JSON.stringify(content)}`)] }
    },
  )
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the person.', inputSchema: z.object({ message: z.string() }) },
    async ({ message }, { mcpReq }) => {
      const field = (description: string) => ({ type: 'string' as const, description })
      const properties = { username: field("User's response"), email: field("User's email address") }
      const { action, content } = await mcpReq.elicitInput({
        message,
        requestedSchema: { type: 'object', properties, required: ['username', 'email'] },
      })
      return { content: [text(`User response: action: ${action}, content: ${JSON.stringify(content)}`)] }
    },
  )
  for (const [name, properties] of Object.entries(forms))
    server.registerTool(name, { description: 'Shows a form.' }, async ({ mcpReq }: ServerContext) => {
      const requestedSchema = { type: 'object', properties } as never
      const { action, content } = await mcpReq.elicitInput({ message: 'A form', requestedSchema })
      return { content: [text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`)] }
    })
}

function addResources(server: McpServer): void {
  server.registerResource('text', 'test://static-text', { mimeType: 'text/plain' }, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
  }))
  server.registerResource('binary', 'test://static-binary', { mimeType: 'image/png' }, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'image/png', blob: pixel }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  server.registerResource('template', template, { mimeType: 'application/json' }, ({ href }, { id }) => ({
    contents: [{ uri: href, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true }) }],
  }))
}
