// A running appliance, tokens of people and of an agent, and the official MCP client.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { endingWithUs, ROOT, ServingProcess } from './appliance.ts';
import { serviceOsSite } from './service-os-site.ts';

export type Era = '2025-11-25' | '2026-07-28';
export const ERAS: readonly Era[] = ['2025-11-25', '2026-07-28'];

export interface Structured {
  // biome-ignore lint/suspicious/noExplicitAny: the answers of many tools, which the client has checked against their schemas
  readonly data: any;
  readonly untrusted: readonly string[];
  readonly cut: readonly string[];
}

export class AgentSite {
  readonly site = serviceOsSite();
  serving = new ServingProcess(this.site.path);
  readonly #clients: Client[] = [];
  readonly #tokens = new Map<string, string>();

  async up(): Promise<this> {
    await this.serving.up();
    this.#tokens.set('admin', this.site.read('state/admin-token').trim());
    for (const role of ['agent', 'operator', 'viewer']) await this.newToken(role, role);
    return this;
  }

  async restart(): Promise<void> {
    this.serving = await new ServingProcess(this.site.path).up();
  }

  async newToken(name: string, role: string): Promise<string> {
    const { token, id } = await this.api('admin', 'POST', '/tokens', { name, role });
    this.#tokens.set(name, token);
    return id;
  }

  /** The file that the CLI reads the token from. */
  tokenFile(name: string): string {
    const file = join(this.site.path, `${name}.token`);
    writeFileSync(file, this.#tokens.get(name) ?? '', { mode: 0o600 });
    return file;
  }

  get server(): string {
    return new URL(this.serving.where('management')).origin;
  }

  async answer(token: string, method: string, path: string, body?: object): Promise<Response> {
    return fetch(`${this.server}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#tokens.get(token)}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: the answers of many operations
  async api(token: string, method: string, path: string, body?: object): Promise<any> {
    return (await this.answer(token, method, path, body)).json();
  }

  async overHttp(token: string, era: Era = '2026-07-28'): Promise<Client> {
    const headers = { authorization: `Bearer ${this.#tokens.get(token) ?? token}` };
    const transport = new StreamableHTTPClientTransport(new URL(`${this.server}/mcp`), { requestInit: { headers } });
    return this.#connected(clientOf(era), transport);
  }

  async overStdio(args: readonly string[], era: Era = '2026-07-28'): Promise<Client> {
    const [command, all] = endingWithUs(join(ROOT, 'coldiron'), ['mcp', ...args]);
    const transport = new StdioClientTransport({ command, args: all, cwd: this.site.path, stderr: 'ignore' });
    return this.#connected(clientOf(era), transport);
  }

  async #connected(client: Client, transport: Parameters<Client['connect']>[0]): Promise<Client> {
    this.#clients.push(client);
    await client.connect(transport);
    return client;
  }

  async end(): Promise<void> {
    for (const client of this.#clients) await client.close();
    await this.serving.end('SIGKILL');
    this.site.remove();
  }
}

const clientOf = (era: Era): Client =>
  new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: era === '2025-11-25' ? 'legacy' : { pin: era } } },
  );

export async function call(client: Client, name: string, args: object = {}): Promise<Structured> {
  const result = await tried(client, name, args);
  if (result.isError) throw new Error(JSON.stringify(result.structuredContent));
  return result.structuredContent as unknown as Structured;
}

export const tried = async (client: Client, name: string, args: object = {}): Promise<CallToolResult> =>
  (await client.callTool({ name, arguments: args as Record<string, unknown> })) as CallToolResult;

/** The error code of a refused call. */
export const refusal = async (client: Client, name: string, args: object = {}): Promise<unknown> =>
  ((await tried(client, name, args)).structuredContent as { readonly error?: unknown } | undefined)?.error;
