// The platforms of conversations: their icons and names.
import type { Platform } from "../../house/threads";
import type { IconName } from "../../parts/icon";
import type { WordKey } from "../../words/words";

const PLATFORMS: Record<Platform, { icon: IconName; key: WordKey }> = {
  cli: { icon: "terminal", key: "platformCli" },
  web: { icon: "window", key: "platformWeb" },
  telegram: { icon: "telegram", key: "platformTelegram" },
  feishu: { icon: "feishu", key: "platformFeishu" },
  peer: { icon: "peer", key: "platformPeer" },
  heartbeat: { icon: "pulse", key: "platformHeartbeat" },
  task: { icon: "clock", key: "platformTask" },
};

export const platformIcon = (platform: Platform): IconName => PLATFORMS[platform].icon;
export const platformKey = (platform: Platform): WordKey => PLATFORMS[platform].key;
