"""The library as a host in another language uses it: python3 python.py LIBRARY"""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])


class Job(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("user", ctypes.c_uint64), ("deadline_ns", ctypes.c_uint64),
                ("customer", ctypes.c_uint32), ("kind", ctypes.c_uint16), ("user_class", ctypes.c_uint8),
                ("criticality", ctypes.c_uint8), ("attempt", ctypes.c_uint8)]


class Answer(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("never_retry", ctypes.c_uint8), ("id", ctypes.c_uint64),
                ("at_ns", ctypes.c_uint64), ("retry_after_ns", ctypes.c_uint64), ("reason", ctypes.c_char_p)]


VISIT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double)
library.admission_new.restype = ctypes.c_void_p
library.admission_new.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
library.admission_offer.restype = Answer
library.admission_offer.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(Job)]
library.admission_poll.restype = Answer
library.admission_poll.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
library.admission_ended.restype = ctypes.c_bool
library.admission_ended.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int]
library.admission_gauges.restype = ctypes.c_size_t
library.admission_gauges.argtypes = [ctypes.c_void_p, VISIT, ctypes.c_void_p]
library.admission_free.argtypes = [ctypes.c_void_p]
ADMIT, REFUSE, HOLD, WAKE_AT, IDLE = range(5)

error = ctypes.create_string_buffer(200)
assert library.admission_new(b'{"policy": "aimmd"}', error, len(error)) is None
assert b"did you mean aimd" in error.value, error.value
seat = library.admission_new(b'{"policy": "gradient2", "settings": {"limit_initial": 20}}', error, len(error))
assert seat, error.value
answers = [library.admission_offer(seat, 0, ctypes.byref(Job(id=number))) for number in range(25)]
assert [answer.kind for answer in answers] == [ADMIT] * 20 + [REFUSE] * 5
assert answers[-1].reason == b"concurrency", answers[-1].reason
assert all(library.admission_ended(seat, 5_000_000, number, 0) for number in range(20))
assert not library.admission_ended(seat, 5_000_000, 3, 0)
while library.admission_poll(seat, 5_000_000).kind not in (WAKE_AT, IDLE):
    pass
gauges = {}
count = library.admission_gauges(seat, VISIT(lambda _, name, value: gauges.update({name.decode(): value})), None)
assert count == len(gauges) and gauges["in_flight"] == 0 and gauges["refused"] == 5 and gauges["limit"] >= 20, gauges
library.admission_free(seat)
print("fine")
