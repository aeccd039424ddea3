// Maps the refusals of services to one message and one kind of failure.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTemporary, messagesIn, oneLine, refusalOf, withoutSecrets } from '../../../appliance/bmc/redfish/refusal.ts';
import { refusal } from './mock/mock-answers.ts';

const CASES = [
  { status: 401, id: 'Base.1.8.NoValidSession', failure: 'authentication', retryable: false },
  { status: 403, id: 'Base.1.8.InsufficientPrivilege', failure: 'privilege', retryable: false },
  { status: 400, id: 'Base.1.8.InsufficientPrivilege', failure: 'privilege', retryable: false },
  { status: 404, id: 'Base.1.8.ResourceMissingAtURI', failure: 'unsupported', retryable: false },
  { status: 405, id: 'Base.1.8.GeneralError', failure: 'unsupported', retryable: false },
  { status: 501, id: 'Base.1.8.GeneralError', failure: 'unsupported', retryable: false },
  { status: 400, id: 'Base.1.8.PropertyValueNotInList', failure: 'unsupported', retryable: false },
  { status: 400, id: 'Base.1.8.PropertyValueFormatError', failure: 'refused', retryable: false },
  { status: 409, id: 'Base.1.8.GeneralError', failure: 'refused', retryable: false },
  { status: 500, id: 'Base.1.8.InternalError', failure: 'refused', retryable: true },
  { status: 503, id: 'Base.1.8.ServiceTemporarilyUnavailable', failure: 'refused', retryable: true },
  { status: 429, id: 'Base.1.8.GeneralError', failure: 'refused', retryable: true },
  { status: 400, id: 'iLO.2.14.UnableToModifyDuringSystemPOST', failure: 'refused', retryable: true },
  { status: 503, id: 'IDRAC.2.8.RAC0218', failure: 'busy', retryable: true },
  { status: 400, id: 'Base.1.8.SessionLimitExceeded', failure: 'busy', retryable: true },
];

describe('a refusal', () => {
  it.each(CASES)('with $status and $id is $failure', ({ status, id, failure, retryable }) => {
    const error = refusalOf('GET /x', status, refusal(status, id, 'its own words').body);
    const shortId = id.split('.').at(-1);
    expect(error).toMatchObject({ failure, retryable, message: `GET /x: its own words (HTTP ${status} ${shortId})` });
  });

  it('without a body has no reason', () => {
    expect(refusalOf('GET /x', 418, null).message).toBe('GET /x: no reason given (HTTP 418)');
  });

  it('without a message has the id and the arguments, as iLO sends it', () => {
    const body = { error: { '@Message.ExtendedInfo': [{ MessageId: 'iLO.2.14.Odd', MessageArgs: ['Boot', 7] }] } };
    expect(refusalOf('PATCH /x', 400, body).message).toBe('PATCH /x: Odd Boot 7 (HTTP 400 Odd)');
  });

  it('includes the resolution, unless it is "None."', () => {
    const entry = (Resolution: string) => ({ '@Message.ExtendedInfo': [{ Message: 'No.', Resolution }] });
    expect(messagesIn(entry('Ask later.'))[0]?.words).toBe('No. Ask later.');
    expect(messagesIn(entry('None.'))[0]?.words).toBe('No.');
  });

  it('of the oldest form is parsed from code and message', () => {
    expect(messagesIn({ error: { code: 'Base.1.0.GeneralError', message: 'Broken' } })).toMatchObject([
      { id: 'GeneralError', words: 'Broken' },
    ]);
  });
});

describe('a temporary refusal', () => {
  it('does not include full sessions', () => {
    const messages = messagesIn(refusal(503, 'IDRAC.2.8.RAC0218').body);
    expect(isTemporary({ status: 503, messages })).toBe(false);
    expect(isTemporary({ status: 503, messages: [] })).toBe(true);
    expect(isTemporary({ status: 200, messages: messagesIn(refusal(200, 'IDRAC.2.8.SYS518').body) })).toBe(false);
  });
});

describe('a message for the operator', () => {
  it('contains no secret, in any encoding', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 4, unit: 'grapheme' }), (secret) => {
        fc.pre(!'[secret]'.includes(secret));
        for (const spelling of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]) {
          expect(withoutSecrets(`<${spelling}>`, [secret])).toBe('<[secret]>');
        }
      }),
    );
  });

  it('is not changed by an empty secret', () => {
    expect(withoutSecrets('words', [''])).toBe('words');
  });

  it('is one line of limited length', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), (text) => {
        const line = oneLine(text);
        expect(/\p{C}/u.test(line)).toBe(false);
        expect(line.length).toBeLessThanOrEqual(1001);
      }),
    );
    expect(oneLine(' a\r\n\tb\u001b[2Jc ')).toBe('a b[2Jc');
  });
});
