// The clients under test: `useChat` of @ai-sdk/react (version 7) inside React, and the chat of version 6.

import { Chat, useChat } from "@ai-sdk/react";
import * as ai7 from "ai";
import * as ai6 from "ai6";
import { createElement } from "react";
import { act, create } from "react-test-renderer";

// The renderer is small and needs no page. It says each time that it will not be developed further.
const report = console.error;
console.error = (...words) => {
  if (!String(words[0]).startsWith("react-test-renderer is deprecated")) report(...words);
};

/** Only what is rendered inside is waited for: what a stream brings is rendered when it comes. */
function rendered(change) {
  globalThis.IS_REACT_ACT_ENVIRONMENT = true;
  act(change);
  globalThis.IS_REACT_ACT_ENVIRONMENT = false;
}

function options(ai, house, { id, messages = [], model = "demo" }) {
  const errors = [];
  const data = [];
  return {
    errors,
    data,
    id,
    messages,
    transport: new ai.DefaultChatTransport({
      api: `${house.address}/api/chat`,
      headers: house.headers,
      body: { model },
    }),
    sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
    onError: (error) => errors.push(error),
    onData: (part) => data.push(part),
  };
}

/** `useChat` as a component has it. What is read is what was rendered last. */
export function useChatClient(house, wanted) {
  const made = options(ai7, house, wanted);
  const chat = new Chat(made);
  let shown;
  function Component() {
    shown = useChat({ chat });
    return null;
  }
  let root;
  rendered(() => {
    root = create(createElement(Component));
  });
  return {
    name: "useChat of version 7",
    errors: made.errors,
    data: made.data,
    send: (text) => shown.sendMessage({ text }),
    answer: (answer) => shown.addToolApprovalResponse(answer),
    regenerate: () => shown.regenerate(),
    resume: () => shown.resumeStream(),
    stop: () => shown.stop(),
    get messages() {
      return chat.messages;
    },
    get status() {
      return chat.status;
    },
    get rendered() {
      return shown.messages;
    },
    close: () => rendered(() => root.unmount()),
  };
}

class PlainState {
  status = "ready";
  error = undefined;
  constructor(messages) {
    this.messages = messages;
  }
  pushMessage = (message) => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.map((it, place) => (place === index ? structuredClone(message) : it));
  };
  snapshot = (value) => structuredClone(value);
}

class PlainChat extends ai6.AbstractChat {
  constructor({ messages, ...rest }) {
    super({ ...rest, state: new PlainState(messages) });
  }
}

export function version6Client(house, wanted) {
  const made = options(ai6, house, wanted);
  const chat = new PlainChat(made);
  return {
    name: "the chat of version 6",
    errors: made.errors,
    data: made.data,
    send: (text) => chat.sendMessage({ text }),
    answer: (answer) => chat.addToolApprovalResponse(answer),
    regenerate: () => chat.regenerate(),
    resume: () => chat.resumeStream(),
    stop: () => chat.stop(),
    get messages() {
      return chat.messages;
    },
    get status() {
      return chat.status;
    },
    get rendered() {
      return chat.messages;
    },
    close: () => {},
  };
}
