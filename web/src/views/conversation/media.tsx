// Images and files of a message. Images come from the log's own blobs, never from a network.
import { useEffect, useState } from "react";
import { Icon } from "../../parts/icon";
import { useApp, useIsOnline, useWords } from "../../parts/app_context";
import { readBlobUrl } from "../../wire/blobs";
import type { MediaBlock } from "../../wire/types";
import { bytes } from "../../words/format";

const SHOWN_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export function MediaList({ media }: { media: readonly MediaBlock[] }) {
  if (media.length === 0) return null;
  return <ul className="media">{media.map((block, index) => <li key={index}><Medium block={block} /></li>)}</ul>;
}

function Medium({ block }: { block: MediaBlock }) {
  const { t } = useWords();
  const name = block.name ?? t("image");
  if (block.type === "image" && SHOWN_TYPES.has(block.mediaType)) return <Picture block={block} name={name} />;
  return <span className="file-chip" aria-label={t("attachment", { name })}><Icon name="file" /><span className="clip">{name}</span><span className="num">{bytes(block.bytes)}</span></span>;
}

function Picture({ block, name }: { block: MediaBlock; name: string }) {
  const { connection } = useApp();
  const { t } = useWords();
  const isOnline = useIsOnline();
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!isOnline || url !== null) return undefined;
    let isOver = false;
    readBlobUrl(connection, block.blob, block.mediaType).then(
      (made) => (isOver ? URL.revokeObjectURL(made) : setUrl(made)),
      () => {},
    );
    return () => {
      isOver = true;
    };
  }, [connection, block, isOnline, url]);
  useEffect(() => () => { if (url !== null) URL.revokeObjectURL(url); }, [url]);
  if (url === null) return <span className="picture bone" role="img" aria-label={t("imageOf", { name })} />;
  return <img className="picture" src={url} alt={t("imageOf", { name })} title={name} />;
}
