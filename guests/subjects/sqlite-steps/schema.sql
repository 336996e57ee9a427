CREATE TABLE artists(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, country TEXT, born INTEGER);
CREATE TABLE albums(id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artists(id), title TEXT NOT NULL, year INTEGER,
  price REAL CHECK(price >= 0));
CREATE TABLE tracks(id INTEGER PRIMARY KEY, album INTEGER NOT NULL REFERENCES albums(id), title TEXT, seconds INTEGER,
  rating REAL DEFAULT 0, UNIQUE(album, title));
CREATE TABLE tags(track INTEGER, word TEXT, PRIMARY KEY(track, word)) WITHOUT ROWID;
CREATE INDEX tracks_by_length ON tracks(seconds, rating);
CREATE VIEW long_tracks AS SELECT id, title, seconds FROM tracks WHERE seconds > 300;
INSERT INTO artists VALUES(1, 'Ada', 'UK', 1815), (2, 'Emmy', 'DE', 1882), (3, 'Sofja', NULL, NULL);
INSERT INTO albums VALUES(1, 1, 'Notes', 1843, 9.5), (2, 2, 'Rings', 1921, 12), (3, 2, 'Ideals', 1921, NULL);
INSERT INTO tracks VALUES(1, 1, 'A', 61, 4.5), (2, 1, 'G', 420, 5), (3, 2, 'Chain', 333, 3.25), (4, 3, 'Zero', 0, NULL);
INSERT INTO tags VALUES(2, 'loop'), (2, 'first'), (3, 'algebra');
