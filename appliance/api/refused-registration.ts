// A refused registration is recorded: who asked, for which node and SKU, what was wrong, and who owns the SKU. The event is an alert.

import { ColdironError, type ErrorCode } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import { shown } from '../domain/parsed.ts';
import { plainLine } from '../domain/plain-line.ts';
import type { RawSource } from '../inventory/read-files.ts';
import type { ManagementDeps } from './deps.ts';

export const SKU_RUNBOOK = 'docs/runbooks/refused-registration.md';

interface AskedNode {
  readonly name: string;
  readonly sku: string | null;
}

/** From documents that were not checked yet. */
export const askedNodes = (documents: readonly object[]): AskedNode[] =>
  documents.map((document) => {
    const { name, sku } = document as { readonly name?: unknown; readonly sku?: unknown };
    return { name: typeof name === 'string' ? name : '', sku: typeof sku === 'string' ? sku : null };
  });

/** About the request; a failure of the appliance is no refusal. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'invalid_request',
  'invalid_sku',
  'invalid_inventory',
  'probe_failed',
  'service_unavailable',
  'conflict',
]);
const MOST_NODES = 20;
const MOST_REASONS = 20;
const LONGEST_REASON = 300;

export async function recordingRefusals<T>(
  deps: Pick<ManagementDeps, 'store' | 'fleet' | 'clock' | 'logger'>,
  origin: Origin,
  asked: readonly AskedNode[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ColdironError && REFUSALS.has(error.code)) {
      await record(deps, origin, asked, error).catch((failure: unknown) =>
        deps.logger.error({ err: failure }, 'a refused registration could not be recorded'),
      );
    }
    throw error;
  }
}

/** Of an apply, only references to SKUs that cannot be followed are recorded: other problems of a file are for its author. */
export async function recordingWrongSkus<T>(
  deps: Pick<ManagementDeps, 'store' | 'fleet' | 'clock' | 'logger'>,
  origin: Origin,
  documents: readonly RawSource[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ColdironError) || error.code !== 'invalid_inventory') throw error;
    const problems = (error.details.length === 0 ? [error.message] : error.details).filter((line) =>
      WRONG_SKU.test(line),
    );
    if (problems.length === 0) throw error;
    const asked = documents.flatMap(({ file, value }) => {
      const nodes: unknown = (value as { readonly nodes?: unknown } | null)?.nodes;
      const wrong = (_: unknown, at: number) => problems.some((line) => line.startsWith(`${file}: nodes[${at}].`));
      return Array.isArray(nodes) ? askedNodes(nodes.filter(wrong)) : [];
    });
    await recordingRefusals(deps, origin, asked, () =>
      Promise.reject(new ColdironError(error.code, problems[0] ?? '', problems)),
    ).catch(() => undefined);
    throw error;
  }
}

const WRONG_SKU = /: nodes\[\d+\]\.(?:sku: |\S+: .*\bSKU\b)/;

async function record(
  { store, fleet, clock }: Pick<ManagementDeps, 'store' | 'fleet' | 'clock'>,
  { actor, correlationId }: Origin,
  asked: readonly AskedNode[],
  { code, message, details }: ColdironError,
): Promise<void> {
  const at = clock.now();
  const skus = [...new Set(asked.flatMap(({ sku }) => sku ?? []))].slice(0, MOST_NODES);
  const owners = [...fleet.skus()].flatMap(({ name, owner }) => (skus.includes(name) && owner !== null ? [owner] : []));
  const data = {
    nodes: asked.slice(0, MOST_NODES).map(({ name }) => shown(name)),
    skus: skus.map(shown),
    owners: [...new Set(owners)],
    code,
    reasons: (details.length === 0 ? [message] : details).slice(0, MOST_REASONS).map(bounded),
    runbook: SKU_RUNBOOK,
  };
  const target = `node:${data.nodes[0] ?? ''}`;
  await store.appendAudit([
    { at, actor, action: 'node.registration-refused', target, correlationId, before: null, after: data },
  ]);
  await store.appendEvents([{ at, kind: 'registration.refused', actor, machine: null, correlationId, data }]);
}

const bounded = (text: string): string => {
  const line = plainLine(text);
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON)}…` : line;
};
