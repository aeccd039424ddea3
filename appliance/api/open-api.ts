// Generates the OpenAPI document from the routes. `npm run docs` writes it next to this file.

import type { FastifyBaseLogger } from 'fastify';
import { buildManagementApi } from './app.ts';

export async function generateOpenApi(): Promise<object> {
  const app = await buildManagementApi({
    store: untouched('store'),
    fleet: untouched('fleet'),
    live: untouched('live feed'),
    metrics: untouched('metrics'),
    commands: untouched('commands'),
    requests: untouched('requests'),
    authenticate: untouched('authenticate'),
    signIn: untouched('sign-in'),
    signInCodes: untouched('sign-in'),
    webSessions: untouched('sign-in'),
    pageUrl: untouched('page'),
    clock: untouched('clock'),
    newId: untouched('newId'),
    services: untouched('services'),
    listeners: untouched('listeners'),
    applianceProblems: untouched('problems'),
    contactAt: untouched('node API'),
    runTimes: untouched('run times'),
    probe: untouched('probe'),
    bootPort: 8080,
    resolver: untouched('resolver'),
    bootContract: untouched('bootContract'),
    work: untouched('work'),
    onboardings: untouched('onboardings'),
    maas: untouched('maas'),
    accessKeys: untouched('keys'),
    allocations: untouched('allocations'),
    sudoPolicies: untouched('policies'),
    proposals: untouched('proposals'),
    terminals: untouched('terminals'),
    enrollment: untouched('enrollment'),
    renderings: untouched('renderings'),
    exports: untouched('exports'),
    bmc: { nodes: untouched('BMCs'), keys: untouched('BMCs'), scan: untouched('BMCs'), consoleLog: untouched('BMCs') },
    logger: SILENT,
  });
  try {
    return app.swagger();
  } finally {
    await app.close();
  }
}

/** Placeholder for a dependency that generating the document does not use. */
function untouched<T extends object>(name: string): T {
  const refuse = () => {
    throw new Error(`describing the API must not use the ${name}`);
  };
  return new Proxy(() => {}, { get: refuse, apply: refuse }) as unknown as T;
}

const nothing = () => {};
const SILENT: FastifyBaseLogger = {
  level: 'silent',
  fatal: nothing,
  error: nothing,
  warn: nothing,
  info: nothing,
  debug: nothing,
  trace: nothing,
  silent: nothing,
  child: () => SILENT,
};
