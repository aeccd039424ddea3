import { describe, expect, it } from 'vitest';
import type { Connection } from '../../appliance/cli/connection.ts';
import { chosenNodes, type SelectionOptions } from '../../appliance/cli/node-selection.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';

const NODES: readonly {
  id: string;
  hostname: string;
  bmc: object | null;
  cluster: string | null;
  labels: Record<string, string>;
}[] = [
  { id: '1', hostname: 'node01', bmc: { address: '10.0.0.1', driver: 'ipmi' }, cluster: 'kube', labels: {} },
  { id: '2', hostname: 'node02', bmc: { address: '10.0.0.2', driver: 'ipmi' }, cluster: null, labels: { rack: 'r7' } },
  { id: '3', hostname: 'bare', bmc: null, cluster: 'kube', labels: { rack: 'r7' } },
];

/** Answers pages of one node, filtered like the server, and single nodes by name or id. */
const call = async (
  _method: string,
  path: string,
  { query = {} }: { query?: Readonly<Record<string, string | undefined>> },
): Promise<unknown> => {
  if (path === '/api/v1/nodes') {
    const matching = NODES.filter(
      ({ bmc, cluster, labels }) =>
        (query.bmc === undefined || bmc !== null) &&
        (query.cluster === undefined || cluster === query.cluster) &&
        (query.rack === undefined || labels.rack === query.rack),
    );
    const at = Number(query.after ?? 0);
    return { nodes: matching.slice(at, at + 1), next: at + 1 < matching.length ? String(at + 1) : null };
  }
  const name = decodeURIComponent(path.slice('/api/v1/nodes/'.length));
  const found = NODES.find(({ id, hostname }) => name === id || name === hostname);
  if (!found) throw new ColdironError('not_found', `there is no node ${name}`);
  return found;
};
const connection = { call } as unknown as Connection;
const POWER = { verb: 'power status', destroys: null, needsBmc: true, reads: true };
const selectNodes = (names: readonly string[], options: SelectionOptions) =>
  chosenNodes(connection, names, options, POWER);

describe('choosing the nodes of a verb', () => {
  it('returns each named node once, by host name, with or without a BMC', async () => {
    expect(await selectNodes(['bare', 'node01', '1'], {})).toEqual(['bare', 'node01']);
  });

  it('fails for an unknown name before it does anything', async () => {
    await expect(selectNodes(['node01', 'node99'], {})).rejects.toMatchObject({
      message: expect.stringContaining('1 of 2'),
    });
  });

  it.each([
    ['--all', { all: true }, ['node01', 'node02']],
    ['--cluster', { cluster: 'kube' }, ['node01']],
    ['--rack', { rack: 'r7' }, ['node02']],
  ])('with %s reads all pages, and only nodes with a BMC', async (_, options, chosen) => {
    expect(await selectNodes([], options)).toEqual(chosen);
  });

  it.each([
    ['no node and no choice', [], {}, 'usage'],
    ['a node and a choice', ['node01'], { all: true }, 'usage'],
    ['a choice that nothing matches', [], { cluster: 'mail' }, 'not_found'],
  ])('rejects %s', async (_, names, options, code) => {
    await expect(selectNodes(names, options)).rejects.toMatchObject({ code });
  });
});
