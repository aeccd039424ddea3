// Stored objects of sources that are not being checked, as entries for the cross-checks.

import type { CatalogueKind, Inventory } from '../domain/inventory.ts';
import { type Machine, type MachineSpec, macsOf } from '../domain/machine.ts';
import type { ApplyMode } from './check.ts';
import { sameValue } from './difference.ts';
import type { Entry, NodeDraft, Place } from './drafts.ts';
import { adviceAbout, Claims, yielded, yieldsTo } from './precedence.ts';

type Named = { readonly name: string | undefined };

export class HeldObjects {
  readonly #held: Inventory | undefined;
  readonly #replaced: ReadonlySet<string>;
  readonly #yields: (machine: Machine) => boolean;
  readonly #specs: ReadonlyMap<string | undefined, MachineSpec>;

  /** `mode` reconcile: the stored objects of the sources will be replaced or removed. */
  constructor(held: Inventory | undefined, sources: readonly { readonly name: string }[], mode: ApplyMode) {
    this.#held = held;
    this.#replaced = new Set(mode === 'reconcile' ? sources.map(({ name }) => name) : []);
    this.#yields = yieldsTo(sources);
    this.#specs = new Map(held?.machines.map(({ spec }) => [spec.hostname, spec]));
  }

  /** A redeclared object moves to its new source; the old declaration is not a conflict. */
  catalogue<T extends Named>(
    kind: CatalogueKind,
    values: readonly T[] | undefined,
    declared: readonly Entry<Named>[],
  ): Entry<T>[] {
    const again = new Set(declared.map(({ draft }) => draft.name));
    return (values ?? []).flatMap((draft) => {
      const source = this.#held?.sources.get(`${kind}/${draft.name}`) ?? '';
      if (again.has(draft.name) || this.#replaced.has(source)) return [];
      return [{ at: heldPlace(source, `${kind} ${draft.name}`), draft }];
    });
  }

  /**
   * The stored spec if the declaration equals it. After an edit nearly all nodes are unchanged: ten thousand new objects need
   * not be kept during the checks, and a comparison with the stored spec is an identity check.
   */
  sameNode(draft: NodeDraft): NodeDraft {
    const spec = this.#specs.get(draft.hostname);
    return spec && sameValue(spec, draft) ? spec : draft;
  }

  /** Discovered machines cause no conflicts: a declaration accepts them. */
  nodes(declared: readonly Entry<NodeDraft>[]): Entry<NodeDraft>[] {
    const again = new Set(declared.map(({ draft }) => draft.hostname));
    const machines = this.#held?.machines ?? [];
    const claims = new Claims(machines.some(this.#yields) ? declared.map(({ draft }) => draft) : []);
    return machines.flatMap((machine) => {
      const { spec, source } = machine;
      const compared = !isUndeclared(machine) && !again.has(spec.hostname) && !this.#replaced.has(source);
      if (!compared) return [];
      const place = heldPlace(source, `node ${spec.hostname}`);
      if (!this.#yields(machine)) return [{ at: { ...place, advice: adviceAbout(machine) }, draft: spec }];
      // A new node with one of its MAC addresses will be this machine.
      const isTakenOver = macsOf(spec).some((mac) => {
        const owner = claims.ownerOf(mac);
        return owner !== undefined && !this.#specs.has(owner);
      });
      return isTakenOver ? [] : [{ at: place, draft: yielded(spec, claims).spec }];
    });
  }
}

/** No source has declared it yet, even if it was accepted by hand. */
export const isUndeclared = ({ source, lifecycle }: Machine): boolean =>
  source === 'network' || lifecycle.state === 'discovered';

const heldPlace = (source: string, path: string): Place => ({ file: `stored from ${source}`, path, held: true });
