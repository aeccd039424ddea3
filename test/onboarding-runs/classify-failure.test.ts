import { describe, expect, it } from 'vitest';
import { FAILURE_CLASSES } from '../../appliance/domain/onboarding.ts';
import { classified, classOfCause, type FoundCause } from '../../appliance/onboarding/classify-failure.ts';
import { CAUSES } from '../../appliance/trail/diagnose.ts';

const cause = (id: string, changes: Partial<FoundCause> = {}): FoundCause => ({
  id,
  reason: `because of ${id}`,
  explains: true,
  evidence: [],
  ...changes,
});
const part = (name: string) => ({ words: `coldiron first boot: {"part":"${name}","outcome":"failed","exit":1}` });

describe('the class of a failure', () => {
  it.each([
    ['screen-cloud-init-no-source', 'datasource'],
    ['screen-cloud-init-yaml', 'datasource'],
    ['no-request', 'network'],
    ['loader-not-fetched', 'network'],
    ['call-home-failed', 'network'],
    ['image-hash-wrong', 'image'],
    ['boot-file-damaged', 'image'],
    ['disk-not-found', 'disk'],
    ['screen-nvme-failed', 'disk'],
    ['bmc-unreachable', 'bmc'],
    ['power-failed', 'bmc'],
    ['powered-off', 'power'],
    ['no-discover', 'power'],
    ['enrollment-refused', 'enrollment'],
    ['authority-unknown', 'enrollment'],
    ['quarantined', 'unknown'],
    ['a-cause-of-a-later-version', 'unknown'],
  ] as const)('of the cause %s is %s', (id, about) => {
    expect(classified({ causes: [cause(id)], step: null, reason: 'it failed' }).class).toBe(about);
  });

  it('tells the script of the site from the part that installs the agent', () => {
    const failed = (name: string) => cause('screen-first-boot-failed', { evidence: [part(name)] });
    expect(classOfCause(failed('site-bootstrap'))).toBe('site-bootstrap');
    expect(classOfCause(failed('node-bootstrap'))).toBe('node-bootstrap');
    const reported = (...words: string[]) =>
      cause('first-boot-part-failed', { evidence: words.map((each) => ({ words: each })) });
    expect(classOfCause(reported('site-bootstrap/infra-1.2: failed, exit status 3', 'mount: no'))).toBe(
      'site-bootstrap',
    );
    expect(classOfCause(reported('node-bootstrap/node-agent-7: failed, exit status 1', 'site-bootstrap/x'))).toBe(
      'node-bootstrap',
    );
  });

  it('is that of the first cause that explains the stop and says what it is about', () => {
    const causes = [cause('disk-not-found', { explains: false }), cause('deadline'), cause('no-request')];
    expect(classified({ causes, step: null, reason: '' })).toMatchObject({ class: 'network', cause: 'no-request' });
  });

  it.each([
    ['seed', 'datasource'],
    ['rehearse', 'network'],
    ['choose-disk', 'disk'],
    ['erase-sda', 'disk'],
    ['verify-image', 'image'],
    ['inspect', 'unknown'],
  ] as const)('of a failed step %s without a cause is %s', (step, about) => {
    expect(classified({ causes: [], step, reason: 'it failed' })).toMatchObject({ class: about, cause: null });
  });

  it('is datasource when only the reason says so', () => {
    const reason = 'DataSourceNotFoundException: Did not find any data source';
    expect(classified({ causes: [cause('deadline')], step: null, reason }).class).toBe('datasource');
    expect(classified({ causes: [], step: null, reason: 'something else' }).class).toBe('unknown');
  });

  it('is known for every cause of the diagnosis', () => {
    for (const { id } of CAUSES) expect(FAILURE_CLASSES).toContain(classOfCause(cause(id)));
    const unknown = CAUSES.filter(({ id }) => classOfCause(cause(id)) === 'unknown').length;
    expect(unknown).toBeLessThan(CAUSES.length / 3);
  });
});
