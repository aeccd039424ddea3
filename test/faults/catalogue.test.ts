import { describe, expect, it } from 'vitest';
import { CAUSES } from '../../appliance/trail/diagnose.ts';
import { FALLBACK_CAUSES } from '../../appliance/trail/diagnosis/causes/power-causes.ts';
import { CATALOGUE, faultById, NOT_INJECTED, NOT_RECORDED } from './catalogue.ts';
import { AREAS } from './fault.ts';
import { recordedIds } from './recordings.ts';
import { recordedResults } from './results.ts';

const ids = new Set([...CAUSES, ...FALLBACK_CAUSES].map(({ id }) => id));
const isOnScreen = (id: string): boolean => id.startsWith('screen-');

describe('the catalogue of faults', () => {
  it('has at least 45 faults, in every area, each once', () => {
    expect(CATALOGUE.length).toBeGreaterThanOrEqual(45);
    expect(new Set(CATALOGUE.map(({ id }) => id)).size).toBe(CATALOGUE.length);
    expect(AREAS.filter((area) => !CATALOGUE.some((fault) => fault.area === area))).toEqual([]);
  });

  it('names only causes that exist, and none that is right and harmful', () => {
    for (const { id, right, harmful } of CATALOGUE) {
      expect(
        [...right, ...harmful].filter((cause) => !ids.has(cause)),
        id,
      ).toEqual([]);
      expect(
        right.filter((cause) => harmful.includes(cause)),
        id,
      ).toEqual([]);
    }
  });

  it('has a fault for each cause, or the reason why none can be injected', () => {
    const injected = new Set(CATALOGUE.flatMap(({ right }) => right));
    const own = [...CAUSES].map(({ id }) => id).filter((id) => !isOnScreen(id));
    expect(own.filter((id) => !injected.has(id) && !Object.hasOwn(NOT_INJECTED, id))).toEqual([]);
    expect(Object.keys(NOT_INJECTED).filter((id) => injected.has(id) || !own.includes(id))).toEqual([]);
  });

  it('has a recording for each fault, or a refusal, or the reason why there is none', () => {
    const results = recordedResults();
    const missing = CATALOGUE.filter(({ id, refused }) =>
      refused === undefined ? !recordedIds().includes(id) : results[id]?.answer !== 'refused',
    ).map(({ id }) => id);
    expect(missing.filter((id) => !Object.hasOwn(NOT_RECORDED, id))).toEqual([]);
    expect(Object.keys(NOT_RECORDED).filter((id) => !missing.includes(id))).toEqual([]);
  });

  it('has results of faults that exist', () => {
    expect(Object.keys(recordedResults()).filter((id) => !CATALOGUE.some((fault) => fault.id === id))).toEqual([]);
  });

  it('says what it knows when an unknown fault is named', () => {
    expect(() => faultById('gremlins')).toThrow('the catalogue has no fault gremlins; it has cable-out,');
  });
});
