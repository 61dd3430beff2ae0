-- What SQL does to the heap of sqlite3: an in-memory table and index; filled, grouped, changed, joined.
-- $rows is bound by bench/run.py.
-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, value REAL);
WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < $rows)
INSERT INTO item SELECT i, printf('%016x', i * 2654435761 % 4294967296), i * 0.5 FROM number;
CREATE INDEX item_name ON item(name);
SELECT count(*), sum(length(name)) FROM item;
SELECT substr(name, 9, 3) AS start, count(*), length(group_concat(name)) FROM item GROUP BY start ORDER BY 2 DESC, 1 LIMIT 5;
UPDATE item SET name = name || '-' || id WHERE id % 3 = 0;
DELETE FROM item WHERE id % 5 = 0;
SELECT count(*) FROM item a JOIN item b ON b.name = a.name WHERE a.value < b.value + 1;
