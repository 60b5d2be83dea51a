// Command slowfs mounts a folder as a network file system might: each call takes a while, and a chosen call fails or kills its caller.
//
//	slowfs -source FOLDER -at MOUNT [-delay 300us] [-seed N] [-fault CALL:N:EIO|ENOSPC|EDQUOT|KILL] [-log FILE]
//
// The N-th CALL of the mount has the fault. KILL performs the call and sends SIGKILL to the caller. The program prints `ready` when the folder is
// mounted and ends when it is unmounted; it then writes the number of each call to the log, and `fault` if the fault took place.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// A fault happens once, at the n-th call of a name.
type fault struct {
	call  string
	n     int
	errno syscall.Errno
	kills bool
}

var errors = map[string]syscall.Errno{"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EDQUOT": syscall.EDQUOT}

func parseFault(text string) (fault, error) {
	words := strings.Split(text, ":")
	if len(words) != 3 {
		return fault{}, fmt.Errorf("a fault is CALL:N:ERROR, not %q", text)
	}
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return fault{}, err
	}
	errno, known := errors[words[2]]
	if !known && words[2] != "KILL" {
		return fault{}, fmt.Errorf("unknown error %q", words[2])
	}
	return fault{call: words[0], n: n, errno: errno, kills: !known}, nil
}

// calls counts the calls of a mount and delays them.
type calls struct {
	mutex  sync.Mutex
	counts map[string]int
	random *rand.Rand
	delay  time.Duration
	fault  fault
	isMet  bool
	// The handles to which something was written.
	written map[uint64]bool
}

// meet counts a call, waits, and returns the error with which the call fails.
func (c *calls) meet(call string, caller uint32) fuse.Status {
	c.mutex.Lock()
	c.counts[call]++
	isFault := c.fault.call == call && c.counts[call] == c.fault.n
	c.isMet = c.isMet || isFault
	delay := c.next()
	c.mutex.Unlock()
	time.Sleep(delay)
	if !isFault {
		return fuse.OK
	}
	if c.fault.kills {
		if err := syscall.Kill(int(caller), syscall.SIGKILL); err != nil {
			log.Fatalf("cannot kill %d: %v", caller, err)
		}
		return fuse.OK
	}
	return fuse.Status(c.fault.errno)
}

// next returns a delay around the mean; one call in 500 is slow.
func (c *calls) next() time.Duration {
	if c.delay == 0 {
		return 0
	}
	delay := time.Duration(c.random.ExpFloat64() * float64(c.delay))
	if c.random.Intn(500) == 0 {
		delay += 30 * c.delay
	}
	return delay
}

func (c *calls) write(path string) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	lines := []string{}
	for call, count := range c.counts {
		lines = append(lines, fmt.Sprintf("%s %d\n", call, count))
	}
	sort.Strings(lines)
	if c.isMet {
		lines = append(lines, "fault\n")
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644)
}

// slow passes the calls on that a writing program makes.
type slow struct {
	fuse.RawFileSystem
	*calls
}

func (s *slow) Lookup(cancel <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if status := s.meet("lookup", header.Pid); status != fuse.OK {
		return status
	}
	return s.RawFileSystem.Lookup(cancel, header, name, out)
}

func (s *slow) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	if status := s.meet("mkdir", in.Pid); status != fuse.OK {
		return status
	}
	return s.RawFileSystem.Mkdir(cancel, in, name, out)
}

func (s *slow) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	if status := s.meet("create", in.Pid); status != fuse.OK {
		return status
	}
	return s.RawFileSystem.Create(cancel, in, name, out)
}

func (s *slow) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if status := s.meet("open", in.Pid); status != fuse.OK {
		return status
	}
	return s.RawFileSystem.Open(cancel, in, out)
}

func (s *slow) Read(cancel <-chan struct{}, in *fuse.ReadIn, buffer []byte) (fuse.ReadResult, fuse.Status) {
	if status := s.meet("read", in.Pid); status != fuse.OK {
		return nil, status
	}
	return s.RawFileSystem.Read(cancel, in, buffer)
}

func (s *slow) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	if status := s.meetWrite(in); status != fuse.OK {
		return 0, status
	}
	return s.RawFileSystem.Write(cancel, in, data)
}

func (s *slow) Writev(cancel <-chan struct{}, in *fuse.WriteIn, data [][]byte) (uint32, fuse.Status) {
	if status := s.meetWrite(in); status != fuse.OK {
		return 0, status
	}
	return s.RawFileSystem.Writev(cancel, in, data)
}

func (s *slow) meetWrite(in *fuse.WriteIn) fuse.Status {
	s.mutex.Lock()
	s.written[in.Fh] = true
	s.mutex.Unlock()
	return s.meet("write", in.Pid)
}

func (s *slow) Release(cancel <-chan struct{}, in *fuse.ReleaseIn) {
	s.mutex.Lock()
	delete(s.written, in.Fh)
	s.mutex.Unlock()
	s.RawFileSystem.Release(cancel, in)
}

// Flush is what close(2) waits for: network file systems report here that a write failed. `close` is the end of a file that was read.
func (s *slow) Flush(cancel <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	s.mutex.Lock()
	call := "close"
	if s.written[in.Fh] {
		call = "flush"
	}
	s.mutex.Unlock()
	if status := s.meet(call, in.Pid); status != fuse.OK {
		return status
	}
	return s.RawFileSystem.Flush(cancel, in)
}

func (s *slow) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	if status := s.meet("fsync", in.Pid); status != fuse.OK {
		return status
	}
	return s.RawFileSystem.Fsync(cancel, in)
}

func (s *slow) OpenDir(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if status := s.meet("opendir", in.Pid); status != fuse.OK {
		return status
	}
	return s.RawFileSystem.OpenDir(cancel, in, out)
}

func (s *slow) FsyncDir(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	if status := s.meet("fsyncdir", in.Pid); status != fuse.OK {
		return status
	}
	return s.RawFileSystem.FsyncDir(cancel, in)
}

func (s *slow) Rename(cancel <-chan struct{}, in *fuse.RenameIn, from string, to string) fuse.Status {
	if status := s.meet("rename", in.Pid); status != fuse.OK {
		return status
	}
	return s.RawFileSystem.Rename(cancel, in, from, to)
}

func (s *slow) Unlink(cancel <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	if status := s.meet("unlink", header.Pid); status != fuse.OK {
		return status
	}
	return s.RawFileSystem.Unlink(cancel, header, name)
}

func (s *slow) Rmdir(cancel <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	if status := s.meet("rmdir", header.Pid); status != fuse.OK {
		return status
	}
	return s.RawFileSystem.Rmdir(cancel, header, name)
}

func main() {
	source := flag.String("source", "", "folder with the files")
	at := flag.String("at", "", "mount point")
	delay := flag.Duration("delay", 0, "mean delay of a call")
	seed := flag.Int64("seed", 1, "seed of the delays")
	faultText := flag.String("fault", "", "CALL:N:ERROR")
	logPath := flag.String("log", "", "file for the numbers of the calls")
	flag.Parse()
	counted := &calls{counts: map[string]int{}, written: map[uint64]bool{}, random: rand.New(rand.NewSource(*seed)), delay: *delay}
	if *faultText != "" {
		parsed, err := parseFault(*faultText)
		if err != nil {
			log.Fatal(err)
		}
		counted.fault = parsed
	}
	if err := serve(*source, *at, counted); err != nil {
		log.Fatal(err)
	}
	if *logPath != "" {
		if err := counted.write(*logPath); err != nil {
			log.Fatal(err)
		}
	}
}

// serve mounts the folder, and returns when it is unmounted.
func serve(source, at string, counted *calls) error {
	root, err := fs.NewLoopbackRoot(source)
	if err != nil {
		return err
	}
	timeout := time.Second
	nodes := fs.NewNodeFS(root, &fs.Options{AttrTimeout: &timeout, EntryTimeout: &timeout})
	// The kernel would otherwise read and write the files of the folder itself.
	mount := &fuse.MountOptions{DirectMountStrict: true, FsName: source, Name: "slowfs", DisabledCapabilities: fuse.CAP_PASSTHROUGH}
	server, err := fuse.NewServer(&slow{nodes, counted}, at, mount)
	if err != nil {
		return err
	}
	go func() {
		if err := server.WaitMount(); err != nil {
			log.Fatal(err)
		}
		fmt.Println("ready")
	}()
	server.Serve()
	return nil
}
