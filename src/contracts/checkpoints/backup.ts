/** What the status of a conversation says about the backups of its sandbox. */
export interface BackupState {
  /** When the files were as they are in the newest backup; absent while there is none. */
  at?: string;
  /** Files in it, and their size. */
  files?: number;
  bytes?: number;
  /** Files of the last turn are not in it yet. */
  due?: true;
  /** The last try failed. It is repeated. */
  failing?: true;
}
