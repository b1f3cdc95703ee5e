package faultdisk

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Choose draws a number from 0 up to n, which is not one of them. n is at least 1.
type Choose func(n int) int

// PowerLoss is a directory that a loss of power after the first calls may leave behind.
func (d *Disk) PowerLoss(calls int, choose Choose) Image {
	r := d.replay(calls)
	mood := choose(moods)
	for _, f := range r.all {
		f.settle(mood, choose)
	}
	rename(r.durable, r.pending[:choose(len(r.pending)+1)])
	image := Image{}
	for name, f := range r.durable {
		image[name] = f.disk
	}
	return image
}

// Killed is the directory that the next process finds if this one is killed after the first calls; see Restart.
func (d *Disk) Killed(calls int) Image {
	image := Image{}
	for name, f := range d.replay(calls).names() {
		image[name] = f.memory
	}
	return image
}

// The moods of a loss of power: some happen to all files alike, since a choice for each write hardly ever makes the simple ones.
const (
	moodNothing = iota // nothing that was not synced is there
	moodAll
	moodEach // each write by itself
	moods
)

// file is what is known of one file.
type file struct {
	disk, memory []byte
	pending      []Call // in memory only
}

// replay is what has become of a directory.
type replay struct {
	all     []*file          // in the order in which they came
	files   map[uint64]*file // by inode; a number is used again when its file is gone
	durable map[string]*file
	pending []change // of names, not durable
}

// change is of a name: a file is made, renamed or removed.
type change struct {
	op       Op // Write: it is made
	name, to string
	file     *file
}

func newReplay() *replay { return &replay{files: map[uint64]*file{}, durable: map[string]*file{}} }

func (r *replay) add(f *file) *file {
	r.all = append(r.all, f)
	return f
}

// copy is r with files of its own. What they hold is never written to.
func (r *replay) copy() *replay {
	c, twin := newReplay(), map[*file]*file{nil: nil}
	for _, f := range r.all {
		twin[f] = c.add(&file{f.disk, f.memory, slices.Clone(f.pending)})
	}
	for number, f := range r.files {
		c.files[number] = twin[f]
	}
	for name, f := range r.durable {
		c.durable[name] = twin[f]
	}
	for _, p := range r.pending {
		p.file = twin[p.file]
		c.pending = append(c.pending, p)
	}
	return c
}

// names are the files as processes see them.
func (r *replay) names() map[string]*file {
	names := maps.Clone(r.durable)
	rename(names, r.pending)
	return names
}

func (d *Disk) replay(calls int) *replay {
	r := d.base.copy()
	for _, c := range d.Calls()[:calls] {
		r.play(c)
	}
	return r
}

func (r *replay) play(c Call) {
	switch {
	case c.Op == SyncDir && c.Failed == 0:
		rename(r.durable, r.pending)
		r.pending = nil
	case c.Op == SyncDir:
	case c.Op != Rename && c.Op != Remove:
		r.at(c).play(c)
	case c.Failed == 0:
		delete(r.files, c.file)
		r.pending = append(r.pending, change{op: c.Op, name: c.Name, to: c.To})
	}
}

// at is the file of a call. One that is seen for the first time has just been made.
func (r *replay) at(c Call) *file {
	f := r.files[c.file]
	if f == nil {
		f = r.add(&file{})
		r.files[c.file] = f
		r.pending = append(r.pending, change{op: Write, name: c.Name, file: f})
	}
	return f
}

// rename carries changes out.
func rename(names map[string]*file, changes []change) {
	for _, c := range changes {
		switch c.op {
		case Write:
			names[c.name] = c.file
		case Rename:
			names[c.to] = names[c.name]
			delete(names, c.name)
		case Remove:
			delete(names, c.name)
		}
	}
}

func (f *file) play(c Call) {
	switch {
	case c.Op == Sync && c.Failed == 0:
		f.settle(moodAll, nil)
	case c.Op == Sync: // the system reports that once, and takes all of it for written
		choose := rand.New(rand.NewPCG(c.fate, 0)).IntN
		f.settle(choose(moods), choose)
	case c.Op == Forget && len(f.pending) == 0:
		f.memory = f.disk
	case c.Failed == 0 && (c.Op == Write || c.Op == Truncate):
		f.memory = apply(f.memory, c)
		f.pending = append(f.pending, c)
	}
}

// settle decides what of the pending writes gets to the disk.
func (f *file) settle(mood int, choose Choose) {
	for _, c := range f.pending {
		kept := mood == moodAll
		if mood == moodEach {
			switch choose(3) {
			case 0:
				kept = true
			case 1:
				if len(c.Data) > 1 {
					c.Data = c.Data[:1+choose(len(c.Data)-1)]
					kept = true
				}
			}
		}
		if kept {
			f.disk = apply(f.disk, c)
		}
	}
	f.pending = nil
}

// apply is data after a write or a change of its size. It leaves data as it is.
func apply(data []byte, c Call) []byte {
	size := int(c.Offset)
	if c.Op == Write {
		size = max(len(data), int(c.Offset)+len(c.Data))
	}
	next := make([]byte, size)
	copy(next, data)
	copy(next[min(int(c.Offset), size):], c.Data)
	return next
}
