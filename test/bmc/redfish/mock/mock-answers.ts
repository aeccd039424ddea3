// The replies of a mock service.

export interface MockAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Text and bytes are sent unchanged. */
  readonly body: unknown;
}

export const answer = (status: number, body: unknown = null, headers: Record<string, string> = {}): MockAnswer => ({
  status,
  headers,
  body,
});

export const refusal = (status: number, messageId: string, words = `words for ${messageId}`): MockAnswer =>
  answer(status, {
    error: {
      code: 'Base.1.8.GeneralError',
      message: 'See @Message.ExtendedInfo for more information.',
      '@Message.ExtendedInfo': [{ MessageId: messageId, Message: words, Severity: 'Critical' }],
    },
  });
