package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// chapters is the number of parts of a report.
const chapters = 4

var (
	errTorn  = errors.New("a report of two versions was read")
	errStale = errors.New("a report of an earlier maker was turned away")
)

// desk is one process's access to the report: its client, the lock, and the cache.
type desk struct {
	rdb  redis.UniversalClient
	lock *rwlock.Lock
	key  string // of the report, a hash
}

func newDesk(rdb redis.UniversalClient, name string) (d *desk, done func() error, err error) {
	client, err := rlock.NewClient(rdb, options())
	if err != nil {
		return nil, nil, err
	}
	return &desk{rdb: rdb, lock: rwlock.New(client, name), key: name + ":cache"}, client.Close, nil
}

// serve reads the report concurrently with other readers.
func (d *desk) serve(ctx context.Context) error {
	return d.lock.Read().Do(ctx, func(ctx context.Context) error {
		_, err := d.read(ctx)
		return err
	})
}

// read reads chapter by chapter, and fails if they are not of one version.
func (d *desk) read(ctx context.Context) (version int, err error) {
	for chapter := range chapters {
		text, err := d.rdb.HGet(ctx, d.key, chapterName(chapter)).Int()
		if err != nil {
			return 0, err
		}
		if chapter > 0 && text != version {
			return 0, errTorn
		}
		version = text
		time.Sleep(time.Millisecond) // a long chapter
	}
	return version, nil
}

// make writes a version, alone, and reads it back. It takes the read side before it releases the write side,
// so nobody can have written in between.
func (d *desk) make(ctx context.Context, version int) (err error) {
	writing, unlock, err := d.lock.Write().Lock(ctx)
	if err != nil {
		return err
	}
	hold, err := d.lock.Write().Held(writing)
	if err != nil {
		return errors.Join(err, unlock())
	}
	if err := d.write(writing, version, hold.Fence); err != nil {
		return errors.Join(err, unlock())
	}
	// Not a child of the write hold's context, which ends first. The hold is in it all the same.
	reading, unread, err := d.lock.Read().Lock(context.WithoutCancel(writing))
	if err != nil {
		return errors.Join(err, unlock())
	}
	defer func() { err = errors.Join(err, unread()) }()
	if err := unlock(); err != nil {
		return err
	}
	got, err := d.read(reading)
	if err == nil && got != version {
		err = fmt.Errorf("version %d was made, and version %d read back", version, got)
	}
	return err
}

// store keeps a chapter unless a later maker, one with a higher fencing token, has written before.
var store = redis.NewScript(`
	local newest = redis.call('HGET', KEYS[1], 'fence')
	if newest and (#newest > #ARGV[1] or #newest == #ARGV[1] and newest > ARGV[1]) then
		return 0
	end
	redis.call('HSET', KEYS[1], 'fence', ARGV[1], ARGV[2], ARGV[3])
	return 1`)

// write writes chapter by chapter, so a reader in the middle of it would see two versions.
func (d *desk) write(ctx context.Context, version int, fence int64) error {
	for chapter := range chapters {
		kept, err := store.Run(ctx, d.rdb, []string{d.key}, fence, chapterName(chapter), version).Int()
		if err != nil {
			return err
		}
		if kept == 0 {
			return errStale
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

func chapterName(chapter int) string { return "chapter " + strconv.Itoa(chapter) }

// turnedAway makes a maker lose its lock without noticing in time, like one whose machine is stopped, and
// write after the next maker did.
func (d *desk) turnedAway(ctx context.Context) error {
	stale, unlock, err := d.lock.Write().Lock(ctx)
	if err != nil {
		return err
	}
	hold, err := d.lock.Write().Held(stale)
	if err != nil {
		return errors.Join(err, unlock())
	}
	if err := d.lock.Write().Break(ctx); err != nil { // an operator takes the lock from it
		return errors.Join(err, unlock())
	}
	if err := unlock(); !errors.Is(err, rlock.ErrLost) {
		return fmt.Errorf("a maker lost its lock, and unlock said: %v", err)
	}
	if err := d.make(ctx, versions+1); err != nil {
		return err
	}
	if err := d.write(ctx, versions, hold.Fence); !errors.Is(err, errStale) {
		return fmt.Errorf("a maker that had lost its lock wrote: %v", err)
	}
	fmt.Println("a maker that had lost its lock was turned away")
	return nil
}
