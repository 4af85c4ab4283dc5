import torch, pytest
from test_resume import *
def test_d(learn, same_weights, tmp_path):
    import itertools
    a=learn(encoder="bert"); b=learn(encoder="bert"); print("unbroken same", same_weights(a,b))
    c=learn(tmp_path/"c",encoder="bert"); print("with checkpoints same", same_weights(a,c))
    for ks in [(1,),(2,),(3,),(4,),(5,),(9,),(10,),(12,)]:
        p=tmp_path/("x"+"-".join(map(str,ks)))
        stopped(learn,p,*ks,encoder="bert")
        d=learn(p,encoder="bert"); print(ks,same_weights(a,d), max((x-y).abs().max().item() for x,y in zip(a.state_dict().values(),d.state_dict().values())))
